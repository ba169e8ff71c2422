// SPDX-License-Identifier: MIT
// worker-source.d.ts - the bundled worker, put in by build.mjs.
declare module "worker-source" {
	const text: string;
	export default text;
}
