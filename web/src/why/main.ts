// SPDX-License-Identifier: MIT
// main.ts - starts the page of `why --html`.

import { startStaticPage } from "../ui/static_page.ts";
import { buildProfilePage } from "./profile_page.ts";
import type { ProfileData, WhyData } from "./types.ts";
import { buildWhyPage } from "./why_page.ts";

void startStaticPage<WhyData | ProfileData>("corotracer why --html", (root, d) =>
	"looks" in d ? buildProfilePage(root, d) : buildWhyPage(root, d));
