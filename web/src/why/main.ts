// SPDX-License-Identifier: MIT
// main.ts - starts the page of `why --html`.

import { startStaticPage } from "../ui/static_page.ts";
import type { WhyData } from "./types.ts";
import { buildWhyPage } from "./why_page.ts";

void startStaticPage<WhyData>("corotracer why --html", buildWhyPage);
