# SPDX-License-Identifier: MIT
#
# table.awk - "key value" lines and then rows of what to compare: a table, or JSON.
#
# A row is: what|measured|unit|yardstick|name of the yardstick|wanted; the second and the
# fourth field are keys.  A row whose measured key has no value is skipped.

function human(x, unit) {
	if (unit == "/s")
		return sprintf("%.2f M/s", x / 1e6)
	if (unit == "%")
		return sprintf("%.2f %%", x)
	return sprintf(x < 10 ? "%.2f %s" : "%.1f %s", x, unit)
}

# "<= 0.5" and the like; nothing wanted is always met.
function met(x, wanted,    w) {
	if (split(wanted, w, " ") != 2)
		return 1
	return w[1] == "<=" ? x <= w[2] + 0 : x >= w[2] + 0
}

function with_values(text,    key) {
	while (match(text, /@[a-z._]+@/)) {
		key = substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, 1, RSTART - 1) sprintf("%d", values[key]) substr(text, RSTART + RLENGTH)
	}
	return text
}

function json_row(what, x, unit, y, name, ratio, wanted, ok) {
	printf "%s\n    {\"what\": \"%s\", \"measured\": %.6g, \"unit\": \"%s\", ", \
		(rows++ ? "," : ""), what, x, unit
	if (y == "")
		printf "\"yardstick\": null, \"yardstick_measured\": null, \"ratio\": null, "
	else
		printf "\"yardstick\": \"%s\", \"yardstick_measured\": %.6g, \"ratio\": %.4g, ", \
			name, y, ratio
	if (wanted == "")
		printf "\"wanted\": null, \"met\": null}"
	else
		printf "\"wanted\": \"%s\", \"met\": %s}", wanted, (ok ? "true" : "false")
}

function table_row(what, measured, yardstick, ratio, wanted) {
	printf "%-44s  %12s  %-34s  %8s  %s\n", what, measured, yardstick, ratio, wanted
}

BEGIN {
	if (json)
		printf "{\n  \"quick\": %s, \"machine\": \"%s\", \"cpus\": %d,\n  \"rows\": [", \
			(quick ? "true" : "false"), arch, cpus
	else
		table_row("what", "measured", "yardstick", "ratio", "wanted")
}

FNR == NR {
	split($0, kv, " ")
	if (!(kv[1] in values))
		keys[++nr_keys] = kv[1]
	values[kv[1]] = kv[2]
	next
}

/^#/ || !($2 in values) { next }

{
	x = values[$2]
	has_yardstick = $4 in values && values[$4] > 0
	ratio = has_yardstick ? x / values[$4] : 0
	ok = met(has_yardstick ? ratio : x, $6)
	what = with_values($1)
	if (json) {
		json_row(what, x, $3, has_yardstick ? values[$4] : "", $5, ratio, $6, ok)
		next
	}
	yardstick = has_yardstick ? ($5 " " human(values[$4], $3)) : "-"
	wanted = $6 == "" ? "-" : ($6 (has_yardstick ? "" : " " $3) (ok ? "" : "  missed"))
	table_row(what, human(x, $3), yardstick, has_yardstick ? sprintf("%.2f", ratio) : "-", wanted)
}

END {
	if (!json)
		exit
	printf "\n  ],\n  \"values\": {"
	for (i = 1; i <= nr_keys; i++)
		printf "%s\n    \"%s\": %s", (i > 1 ? "," : ""), keys[i], values[keys[i]]
	printf "\n  }\n}\n"
}
