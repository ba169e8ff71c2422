// SPDX-License-Identifier: MIT
// colours.test.ts - text can be read on what it stands on, in both themes (WCAG AA).
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const css = readFileSync("src/style/colours.css", "utf8");

function theme(selector: string): Map<string, string> {
	const body = css.slice(css.indexOf(`${selector} {`));
	const out = new Map<string, string>();
	for (const m of body.slice(0, body.indexOf("\n}")).matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)) out.set(m[1], m[2]);
	return out;
}

function luminance(hex: string): number {
	const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
	const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
	return (x + 0.05) / (y + 0.05);
}

for (const selector of [":root", ':root[data-theme="dark"]']) {
	test(`${selector}: text against its ground`, () => {
		const t = theme(selector);
		const pairs = ["bg", "surface", "hover", "selected"].flatMap((ground) => ["text", "muted"].map((ink) => [ink, ground]));
		for (const ink of ["accent", "running", "suspended", "ready", "new", "ended", "alarm", "good", "faint"]) pairs.push([ink, "surface"]);
		for (const c of ["proven", "strong", "suspect", "info"]) pairs.push([c, `${c}-soft`], [c, "surface"]);
		for (const [ink, ground] of pairs) {
			const ratio = contrast(t.get(ink)!, t.get(ground)!);
			assert.ok(ratio >= 4.5, `${ink} on ${ground}: ${ratio.toFixed(2)}`);
		}
		for (const [ink, ground] of [["text", "h0"], ["text", "h1"], ["text", "h2"], ["on-h3", "h3"], ["on-h4", "h4"], ["on-h5", "h5"], ["on-h5", "h6"]]) {
			const ratio = contrast(t.get(ink)!, t.get(ground)!);
			assert.ok(ratio >= 4.5, `${ink} on ${ground}: ${ratio.toFixed(2)}`);
		}
		for (const fill of ["running-fill", "suspended-fill", "ready-fill", "blocked-fill"]) {
			const ratio = contrast(t.get(fill)!, t.get("surface")!);
			assert.ok(ratio >= 2.2, `${fill} on surface: ${ratio.toFixed(2)}`);
		}
	});
}
