// SPDX-License-Identifier: MIT
// main.ts - starts the page of `diff --html`.

import { startStaticPage } from "../ui/static_page.ts";
import { buildComparePage } from "./compare_page.ts";
import type { CompareData } from "./types.ts";

void startStaticPage<CompareData>("corotracer diff --html", buildComparePage);
