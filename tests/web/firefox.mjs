// SPDX-License-Identifier: MIT
// firefox.mjs - headless Firefox of the distribution, by WebDriver BiDi: pages, scripts, keys, and what they log.
//
// Playwright drives a build of its own, or a newer Firefox than distributions have: it is used for its WebSocket only.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { ws: WebSocket } = createRequire(import.meta.url)(join(here, "../../web/node_modules/playwright-core/lib/utilsBundle.js"));
const KEYS = { ArrowDown: "\uE015", Enter: "\uE007" };

class Firefox {
	troubles = []; // errors and warnings of the page, as they occur
	#socket;
	#context;
	#calls = new Map();
	#next = 1;

	async connect(url) {
		this.#socket = new WebSocket(`${url}/session`);
		this.#socket.on("message", (data) => this.#take(JSON.parse(data)));
		await new Promise((opened, failed) => {
			this.#socket.on("open", opened);
			this.#socket.on("error", failed);
		});
		await this.#call("session.new", { capabilities: {} });
		await this.#call("session.subscribe", { events: ["log.entryAdded"] });
		const tree = await this.#call("browsingContext.getTree", {});
		this.#context = tree.contexts[0].context;
	}

	#take(message) {
		if (message.method === "log.entryAdded" && ["error", "warn"].includes(message.params.level))
			this.troubles.push(`${message.params.type}: ${message.params.text}`);
		const call = this.#calls.get(message.id);
		this.#calls.delete(message.id);
		if (message.type === "error") call?.failed(new Error(`${message.error}: ${message.message}`));
		else call?.done(message.result);
	}

	#call(method, params) {
		const id = this.#next++;
		this.#socket.send(JSON.stringify({ id, method, params }));
		return new Promise((done, failed) => this.#calls.set(id, { done, failed }));
	}

	async goto(url) {
		await this.#call("browsingContext.navigate", { context: this.#context, url, wait: "complete" });
	}

	// A function of the page, with plain values.
	async evaluate(fn, ...args) {
		const expression = `(async () => JSON.stringify((await (${fn})(...${JSON.stringify(args)})) ?? null))()`;
		const answer = await this.#call("script.evaluate", { expression, target: { context: this.#context }, awaitPromise: true });
		if (answer.type === "exception") throw new Error(answer.exceptionDetails.text);
		return JSON.parse(answer.result.value);
	}

	async press(key) {
		const value = KEYS[key] ?? key;
		await this.#call("input.performActions", { context: this.#context,
			actions: [{ type: "key", id: "keys", actions: [{ type: "keyDown", value }, { type: "keyUp", value }] }] });
	}

	async close() {
		await this.#call("browser.close", {}).catch(() => {});
		this.#socket.close();
	}
}

const addressOf = (child) => new Promise((found, failed) => {
	let said = "";
	child.stderr.on("data", (d) => {
		said += d;
		const url = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(said);
		if (url) found(url[1]);
	});
	child.once("error", failed);
	child.once("exit", () => failed(new Error(`Firefox has ended: ${said.slice(-500)}`)));
});

// One process for pages, nothing of its own to show, and no service that asks or prepares anything.
const SETTINGS = {
	"app.normandy.enabled": false, "app.shield.optoutstudies.enabled": false, "browser.newtabpage.enabled": false,
	"browser.newtabpage.activity-stream.feeds.system.topstories": false, "browser.newtabpage.activity-stream.feeds.topsites": false,
	"browser.safebrowsing.malware.enabled": false, "browser.safebrowsing.phishing.enabled": false, "browser.shell.checkDefaultBrowser": false,
	"browser.startup.homepage_override.mstone": "ignore", "browser.startup.page": 0, "browser.translations.enable": false,
	"datareporting.policy.dataSubmissionEnabled": false, "dom.ipc.processCount": 1, "dom.ipc.processPrelaunch.enabled": false,
	"extensions.getAddons.cache.enabled": false, "extensions.systemAddon.update.enabled": false, "fission.autostart": false,
	"media.gmp-manager.updateEnabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false,
	"services.settings.server": "data:,", "toolkit.telemetry.server": "data:,",
};

// fn gets the browser; the browser and its profile are removed afterwards.
export async function withFirefox(fn) {
	const home = mkdtempSync(join(tmpdir(), "corotracer-firefox-"));
	if (process.env.COROTRACER_FULL !== "1")
		writeFileSync(join(home, "user.js"), Object.entries(SETTINGS).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`).join(""));
	const child = spawn(process.env.FIREFOX ?? "/usr/bin/firefox-esr", ["--headless", "--no-remote", "--profile", home, "--remote-debugging-port", "0"],
		{ stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: home, MOZ_HEADLESS: "1" } });
	const gone = new Promise((done) => child.once("exit", done));
	try {
		const browser = new Firefox();
		await browser.connect(await addressOf(child));
		await fn(browser);
		await browser.close();
	} finally {
		child.kill("SIGKILL");
		await gone;
		rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
	}
}
