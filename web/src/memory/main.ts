// SPDX-License-Identifier: MIT
// main.ts - starts the page of `mem html`.

import { startStaticPage } from "../ui/static_page.ts";
import { buildMemoryPage } from "./memory_page.ts";
import type { MemoryData } from "./types.ts";

void startStaticPage<MemoryData>("corotracer mem html", buildMemoryPage);
