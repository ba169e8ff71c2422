/* SPDX-License-Identifier: MIT */
/* config_text.c - parse a level or a TLB of the command line: "L1=32K,8,64,fifo,share=all". */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memory/sim/config.h"

static int not_understood(const char *text, const char *part, const char *what, struct err *err)
{
	return err_set(err, -EINVAL, "'%s': '%s' is not understood: %s", text, part, what);
}

static bool config_text_number_of(const char *text, uint32_t *out)
{
	uint64_t n;

	if (!sim_size_of(text, &n) || n > UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* Parse a word after the numbers.  Returns false if it is unknown. */
static bool take_word(struct sim_level_config *l, const char *word)
{
	int n;

	if ((n = sim_policy_find(word)) >= 0)
		l->policy = (enum sim_policy)n;
	else if ((n = sim_inclusion_find(word)) >= 0)
		l->inclusion = (enum sim_inclusion)n;
	else if ((n = sim_prefetch_find(word)) > 0)
		l->prefetch = (enum sim_prefetch)n;
	else if (!strcmp(word, "write-through"))
		l->write_through = true;
	else if (!strcmp(word, "write-back"))
		l->write_through = false;
	else if (!strcmp(word, "no-allocate"))
		l->no_allocate = true;
	else if (!strcmp(word, "share=all"))
		l->share = 0;
	else if (strncmp(word, "share=", 6) != 0 || !config_text_number_of(word + 6, &l->share))
		return false;
	return true;
}

static int take_part(struct sim_level_config *l, unsigned i, const char *part, const char *text,
		     struct err *err)
{
	switch (i) {
	case 0:
		return sim_size_of(part, &l->size)
			       ? 0
			       : not_understood(text, part, "a size goes there, such as 32K", err);
	case 1:
		if (!strcmp(part, "full"))
			l->ways = 0;
		else if (!config_text_number_of(part, &l->ways))
			return not_understood(text, part, "a number of ways goes there, or 'full'",
					      err);
		return 0;
	case 2: /* bytes of a line, or the first word */
		if (config_text_number_of(part, &l->line))
			return 0;
		break;
	default:
		break;
	}
	if (take_word(l, part))
		return 0;
	not_understood(text, part, "no word for a cache", err);
	err_hint(err, "lru, plru, fifo, lifo, random; write-through, no-allocate; inclusive, "
		      "exclusive; next-line, tagged; share=N, share=all");
	return err->code;
}

/* Remove a name such as "L1=" from the front. */
static const char *sim_config_name_of(const char *text, char *name)
{
	size_t len = strcspn(text, "=,");

	if (text[len] != '=' || len == 0 || len >= SIM_NAME_MAX)
		return text;
	snprintf(name, SIM_NAME_MAX, "%.*s", (int)len, text);
	return text + len + 1;
}

/* Call @take for each part between commas.  Returns the number of parts, or a negative errno. */
static int each_part(const char *text, int (*take)(void *, unsigned, const char *, struct err *),
		     void *to, struct err *err)
{
	char copy[256], *rest = copy, *part;
	int i = 0;

	if (strlen(text) >= sizeof(copy))
		return err_set(err, -EINVAL, "'%.40s...' is too long", text);
	memcpy(copy, text, strlen(text) + 1);
	while ((part = strsep(&rest, ","))) {
		if (take(to, (unsigned)i++, part, err) < 0)
			return err->code;
	}
	return i;
}

struct level_to {
	struct sim_level_config *level;
	const char *text;
};

static int level_part(void *to, unsigned i, const char *part, struct err *err)
{
	const struct level_to *t = to;

	return take_part(t->level, i, part, t->text, err);
}

int sim_config_level_text(struct sim_config *c, const char *text, struct err *err)
{
	struct sim_level_config *l = &c->level[c->nr_levels];
	struct level_to to = { l, text };
	int nr;

	if (c->nr_levels == SIM_LEVELS_MAX)
		return err_set(err, -EINVAL, "more than %u levels of caches", SIM_LEVELS_MAX);
	memset(l, 0, sizeof(*l));
	snprintf(l->name, sizeof(l->name), "L%u", c->nr_levels + 1);
	l->line = 64;
	l->share = SIM_SHARE_DEFAULT;
	nr = each_part(sim_config_name_of(text, l->name), level_part, &to, err);
	if (nr < 0)
		return nr;
	if (nr < 2)
		return not_understood(text, text, "SIZE,WAYS[,LINE] goes there", err);
	c->nr_levels++;
	return 0;
}

struct tlb_to {
	struct sim_tlb_config *tlb;
	const char *text;
};

static int tlb_part(void *to, unsigned i, const char *part, struct err *err)
{
	const struct tlb_to *t = to;

	if (i == 0 && config_text_number_of(part, &t->tlb->entries))
		return 0;
	if (i == 1 && !strcmp(part, "full"))
		return 0;
	if (i == 1 && config_text_number_of(part, &t->tlb->ways))
		return 0;
	return not_understood(t->text, part, "ENTRIES[,WAYS] goes there", err);
}

int sim_config_tlb_text(struct sim_config *c, const char *text, struct err *err)
{
	struct sim_tlb_config *t = &c->tlb[c->nr_tlbs];
	struct tlb_to to = { t, text };
	int nr;

	if (c->nr_tlbs == SIM_TLBS_MAX)
		return err_set(err, -EINVAL, "more than %u levels of TLBs", SIM_TLBS_MAX);
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "TLB%u", c->nr_tlbs + 1);
	nr = each_part(sim_config_name_of(text, t->name), tlb_part, &to, err);
	if (nr < 0)
		return nr;
	c->nr_tlbs++;
	return 0;
}
