// SPDX-License-Identifier: MIT
// commands.cpp - the commands of the server: one table, one function each.
//
// CONFIG, COMMAND, INFO, CLIENT and SELECT exist because redis-cli and redis-benchmark send
// them when they connect.  The answers are correct and short.
#include "commands.h"

#include <span>

#include "reply.h"
#include "words.h"

namespace
{

struct Call {
	Keyspace *keys;
	ClientState *client;
	const Args &args;
	std::string *out;
};

struct Command {
	const char *name;
	int arity; // words, its name included; -2: two or more
	void (*run)(const Call &call);
	const char *group;
	const char *summary;
};

std::span<const Command> all_commands();

void reply_syntax(const Call &call)
{
	reply_error(call.out, "ERR syntax error");
}

void reply_subcommand(const Call &call)
{
	reply_error(call.out,
		    "ERR unknown subcommand '" + std::string(call.args[1].substr(0, 64)) + "'");
}

// ---- the client ---------------------------------------------------------------

void run_ping(const Call &call)
{
	if (call.args.size() > 2)
		reply_error(call.out, "ERR wrong number of arguments for 'ping' command");
	else if (call.args.size() == 2)
		reply_bulk(call.out, call.args[1]);
	else
		reply_status(call.out, "PONG");
}

void run_echo(const Call &call)
{
	reply_bulk(call.out, call.args[1]);
}

void run_quit(const Call &call)
{
	call.client->wants_to_leave = true;
	reply_status(call.out, "OK");
}

void run_select(const Call &call)
{
	int64_t number;

	if (!parse_integer(call.args[1], &number))
		reply_error(call.out, "ERR value is not an integer or out of range");
	else if (number != 0)
		reply_error(call.out, "ERR DB index is out of range");
	else
		reply_status(call.out, "OK");
}

void run_client(const Call &call)
{
	if (same_word(call.args[1], "id"))
		reply_integer(call.out, static_cast<int64_t>(call.client->id));
	else if (same_word(call.args[1], "setname") || same_word(call.args[1], "setinfo"))
		reply_status(call.out, "OK");
	else if (same_word(call.args[1], "getname"))
		reply_nil(call.out);
	else
		reply_subcommand(call);
}

// ---- keys and values ------------------------------------------------------------

void run_get(const Call &call)
{
	auto value = call.keys->store.get(call.args[1]);

	if (value)
		reply_bulk(call.out, *value);
	else
		reply_nil(call.out);
}

// NX, XX and GET; keys never expire, so EX is not supported.  False: syntax error.
bool parse_set_options(const Args &args, Store::When *when, bool *wants_old)
{
	for (size_t i = 3; i < args.size(); i++) {
		if (same_word(args[i], "nx") && *when == Store::ALWAYS)
			*when = Store::IF_ABSENT;
		else if (same_word(args[i], "xx") && *when == Store::ALWAYS)
			*when = Store::IF_PRESENT;
		else if (same_word(args[i], "get"))
			*wants_old = true;
		else if (!same_word(args[i], "keepttl"))
			return false;
	}
	return true;
}

void run_set(const Call &call)
{
	Store::When when = Store::ALWAYS;
	std::optional<std::string> old;
	bool wants_old = false, done;

	if (!parse_set_options(call.args, &when, &wants_old)) {
		reply_syntax(call);
		return;
	}
	done = call.keys->store.set(call.args[1], call.args[2], when, wants_old ? &old : nullptr);
	if (wants_old && old)
		reply_bulk(call.out, *old);
	else if (wants_old || !done)
		reply_nil(call.out);
	else
		reply_status(call.out, "OK");
}

void run_del(const Call &call)
{
	int64_t nr = 0;

	for (size_t i = 1; i < call.args.size(); i++)
		nr += call.keys->store.remove(call.args[i]);
	reply_integer(call.out, nr);
}

void run_exists(const Call &call)
{
	int64_t nr = 0;

	for (size_t i = 1; i < call.args.size(); i++)
		nr += call.keys->store.has(call.args[i]);
	reply_integer(call.out, nr);
}

void reply_sum(const Call &call, int64_t by)
{
	int64_t result;

	switch (call.keys->store.add(call.args[1], by, &result)) {
	case Store::ADDED:
		reply_integer(call.out, result);
		return;
	case Store::NO_INTEGER:
		reply_error(call.out, "ERR value is not an integer or out of range");
		return;
	case Store::OVERFLOW:
		reply_error(call.out, "ERR increment or decrement would overflow");
		return;
	}
}

void run_incr(const Call &call)
{
	reply_sum(call, 1);
}

void run_decr(const Call &call)
{
	reply_sum(call, -1);
}

void run_incrby(const Call &call)
{
	int64_t by;

	if (parse_integer(call.args[2], &by))
		reply_sum(call, by);
	else
		reply_error(call.out, "ERR value is not an integer or out of range");
}

void run_dbsize(const Call &call)
{
	reply_integer(call.out, static_cast<int64_t>(call.keys->store.size()));
}

void run_flushall(const Call &call)
{
	call.keys->store.clear();
	reply_status(call.out, "OK");
}

// ---- the server -------------------------------------------------------------------

// The settings that redis-benchmark prints above its figures.
void run_config(const Call &call)
{
	static const char *const known[][2] = { { "save", "" },
						{ "appendonly", "no" },
						{ "databases", "1" } };
	size_t nr = 0;
	std::string pairs;

	if (!same_word(call.args[1], "get") || call.args.size() < 3) {
		reply_subcommand(call);
		return;
	}
	for (auto &[name, value] : known) {
		for (size_t i = 2; i < call.args.size(); i++) {
			if (!same_word(call.args[i], name) && call.args[i] != "*")
				continue;
			reply_bulk(&pairs, name);
			reply_bulk(&pairs, value);
			nr += 2;
			break;
		}
	}
	reply_array(call.out, nr);
	call.out->append(pairs);
}

void reply_docs(const Call &call)
{
	reply_array(call.out, all_commands().size() * 2);
	for (const Command &c : all_commands()) {
		reply_bulk(call.out, c.name);
		reply_array(call.out, 4);
		reply_bulk(call.out, "summary");
		reply_bulk(call.out, c.summary);
		reply_bulk(call.out, "group");
		reply_bulk(call.out, c.group);
	}
}

// Name, arity, flags, and the positions of its keys, which are not recorded here.
void reply_command_list(const Call &call)
{
	reply_array(call.out, all_commands().size());
	for (const Command &c : all_commands()) {
		reply_array(call.out, 6);
		reply_bulk(call.out, c.name);
		reply_integer(call.out, c.arity);
		reply_array(call.out, 0);
		for (int i = 0; i < 3; i++)
			reply_integer(call.out, 0);
	}
}

void run_command_command(const Call &call)
{
	if (call.args.size() == 1)
		reply_command_list(call);
	else if (same_word(call.args[1], "count"))
		reply_integer(call.out, static_cast<int64_t>(all_commands().size()));
	else if (same_word(call.args[1], "docs"))
		reply_docs(call);
	else
		reply_subcommand(call);
}

void run_info(const Call &call)
{
	reply_bulk(call.out, "# Server\r\nserver_name:mini-redis\r\nredis_mode:standalone\r\n"
			     "# Stats\r\ntotal_commands_processed:" +
				     std::to_string(call.keys->commands) +
				     "\r\n# Keyspace\r\ndb0:keys=" +
				     std::to_string(call.keys->store.size()) + ",expires=0\r\n");
}

// ---- the table ----------------------------------------------------------------------

const Command commands[] = {
	{ "client", -2, run_client, "connection", "tells the client's number" },
	{ "command", -1, run_command_command, "server", "tells this table" },
	{ "config", -2, run_config, "server", "tells what is set" },
	{ "dbsize", 1, run_dbsize, "server", "counts the keys" },
	{ "decr", 2, run_decr, "string", "subtracts one from the number at a key" },
	{ "del", -2, run_del, "generic", "removes keys" },
	{ "echo", 2, run_echo, "connection", "returns its argument" },
	{ "exists", -2, run_exists, "generic", "counts those keys that are there" },
	{ "flushall", -1, run_flushall, "server", "removes all keys" },
	{ "get", 2, run_get, "string", "returns the value of a key" },
	{ "incr", 2, run_incr, "string", "adds one to the number at a key" },
	{ "incrby", 3, run_incrby, "string", "adds to the number at a key" },
	{ "info", -1, run_info, "server", "tells about the server" },
	{ "ping", -1, run_ping, "connection", "answers PONG, or its argument" },
	{ "quit", -1, run_quit, "connection", "closes the connection" },
	{ "select", 2, run_select, "connection", "there is one database, 0" },
	{ "set", -3, run_set, "string", "sets the value of a key" },
};

std::span<const Command> all_commands()
{
	return commands;
}

const Command *find_command(std::string_view name)
{
	for (const Command &c : commands)
		if (same_word(name, c.name))
			return &c;
	return nullptr;
}

bool fits(int arity, size_t words)
{
	return arity >= 0 ? words == static_cast<size_t>(arity)
			  : words >= static_cast<size_t>(-arity);
}

// The wording of Redis; only the first few arguments are quoted.
std::string unknown_command(const Args &args)
{
	std::string text = "ERR unknown command '" + std::string(args[0].substr(0, 128)) +
			   "', with args beginning with: ";

	for (size_t i = 1; i < args.size() && text.size() < 256; i++)
		text += "'" + std::string(args[i].substr(0, 128)) + "' ";
	return text;
}

} // namespace

void run_command(Keyspace *keys, ClientState *client, const Args &args, std::string *out)
{
	const Command *c = find_command(args[0]);

	keys->commands.fetch_add(1, std::memory_order_relaxed);
	if (!c)
		reply_error(out, unknown_command(args));
	else if (!fits(c->arity, args.size()))
		reply_error(out, std::string("ERR wrong number of arguments for '") + c->name +
					 "' command");
	else
		c->run({ keys, client, args, out });
}
