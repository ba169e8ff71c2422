-- compare: two builds, site by site.
--
-- Is a difference more than chance?  The waits that are longer than a limit are counted on both sides.
-- Limits are at the base's p50 and p99; the clearest one counts.  Sigma is the difference of the two
-- shares in standard errors.  The standard error comes from how much the share changes from one interval
-- ("step") to the next, because waits of the same moment are not independent.  "slower" and "faster"
-- need 4 sigma, and a p50 or p99 that differs by 10 %.  Fewer than 5 intervals on a side do not tell how
-- much the share changes by itself: "too few".
--
-- Reads the aggregates of 10 s.  The percentiles are wrong by less than a factor of two: see
-- ask_slowest.sql.
SELECT
    multiIf(nr_base = 0, 'new', nr = 0, 'gone', least(nr_base, nr) < 100 OR parts < 5, 'too few',
        sigma >= 4 AND (head_p99 > 1.1 * base_p99 OR head_p50 > 1.1 * base_p50), 'slower',
        sigma <= -4 AND (base_p99 > 1.1 * head_p99 OR base_p50 > 1.1 * head_p50), 'faster', 'same') AS verdict,
    round(sigma, 1) AS sigmas,
    nr_base AS base_waits,
    nr AS waits,
    toUInt64(base_p50) AS base_p50_ns,
    toUInt64(head_p50) AS p50_ns,
    toUInt64(base_p99) AS base_p99_ns,
    toUInt64(head_p99) AS p99_ns,
    round(if(base_p99 = 0 OR nr = 0, nan, 100 * (head_p99 / base_p99 - 1))) AS p99_percent,
    if(id = 0, '(unknown site)', if(place = '', concat('site ', lower(hex(id))), place)) AS site
FROM
(
    SELECT
        id, nr_base, nr, parts, base_p50, head_p50, base_p99, head_p99,
        arrayMap((b, h, e, f) -> (h - b) / sqrt(1e-12 + greatest(e + f,
            (b + h) / 2 * (1 - (b + h) / 2) * (1 / nr_base + 1 / nr))), base_shares, shares, base_errors, errors) AS z,
        if(nr_base = 0 OR nr = 0, 0, arraySort(x -> -abs(x), z)[1]) AS sigma
    FROM
    (
        SELECT
            id, nr_base, nr, base_p50, head_p50, base_p99, head_p99, base_shares, shares,
            least(length(base_step_list), length(head_step_list)) AS parts,
            -- Variances of the shares, from the intervals.
            arrayMap((limit, share) -> arraySum(arrayMap(
                (k, c) -> pow(arraySum((s, n) -> n * (s > limit), k, c) - share * arraySum(c), 2), base_step_list, base_count_list))
                / pow(nr_base, 2), arraySlice(limits, 1, 4 + 0 * (length(base_step_list) + length(base_count_list))), base_shares) AS base_errors,
            arrayMap((limit, share) -> arraySum(arrayMap(
                (k, c) -> pow(arraySum((s, n) -> n * (s > limit), k, c) - share * arraySum(c), 2), head_step_list, head_count_list))
                / pow(nr, 2), arraySlice(limits, 1, 4 + 0 * (length(head_step_list) + length(head_count_list))), shares) AS errors
        FROM
        (
            SELECT
                id, nr_base, nr, limits, base_step_list, base_count_list, head_step_list, head_count_list,
                base_p50, head_p50, base_p99, head_p99,
                -- The share of waits beyond each limit.  0 * length(...): old servers look for columns only outside of
                -- functions "x -> ...".
                arrayMap(limit -> arraySum((s, n) -> n * (s > limit), base_steps, base_counts) / nr_base,
                    arraySlice(limits, 1, 4 + 0 * (length(base_steps) + length(base_counts)))) AS base_shares,
                arrayMap(limit -> arraySum((s, n) -> n * (s > limit), head_steps, head_counts) / nr,
                    arraySlice(limits, 1, 4 + 0 * (length(head_steps) + length(head_counts)))) AS shares
            FROM
            (
                SELECT
                    id, nr_base, nr, base_step_list, base_count_list, head_step_list, head_count_list,
                    base_steps, base_counts, head_steps, head_counts,
                    -- Four limits: the begin and the end of the steps with the base's p50 and p99.
                    [toInt16(base_steps[base_i50]) - 1, toInt16(base_steps[base_i50]),
                     toInt16(base_steps[base_i99]) - 1, toInt16(base_steps[base_i99])] AS limits,
                    if(nr_base = 0, 0, least(toFloat64(base_max), if(base_steps[base_i50] = 0, 0, exp2(base_steps[base_i50] - 1 + (0.50 * nr_base - if(base_i50 > 1, base_below[base_i50 - 1], 0)) / base_counts[base_i50])))) AS base_p50,
                    if(nr_base = 0, 0, least(toFloat64(base_max), if(base_steps[base_i99] = 0, 0, exp2(base_steps[base_i99] - 1 + (0.99 * nr_base - if(base_i99 > 1, base_below[base_i99 - 1], 0)) / base_counts[base_i99])))) AS base_p99,
                    if(nr = 0, 0, least(toFloat64(head_max), if(head_steps[i50] = 0, 0, exp2(head_steps[i50] - 1 + (0.50 * nr - if(i50 > 1, head_below[i50 - 1], 0)) / head_counts[i50])))) AS head_p50,
                    if(nr = 0, 0, least(toFloat64(head_max), if(head_steps[i99] = 0, 0, exp2(head_steps[i99] - 1 + (0.99 * nr - if(i99 > 1, head_below[i99 - 1], 0)) / head_counts[i99])))) AS head_p99
                FROM
                (
                    SELECT
                        id, base_step_list, base_count_list, head_step_list, head_count_list, base_max, head_max,
                        base_steps, base_counts, base_below, head_steps, head_counts, head_below, nr_base, nr,
                        arrayFirstIndex(n -> n >= 0.50 * nr_base, base_below) AS base_i50,
                        arrayFirstIndex(n -> n >= 0.99 * nr_base, base_below) AS base_i99,
                        arrayFirstIndex(n -> n >= 0.50 * nr, head_below) AS i50,
                        arrayFirstIndex(n -> n >= 0.99 * nr, head_below) AS i99
                    FROM
                    (
                        SELECT
                            id, base_step_list, base_count_list, head_step_list, head_count_list, base_max, head_max,
                            tupleElement(base_histogram, 1) AS base_steps,
                            tupleElement(base_histogram, 2) AS base_counts,
                            tupleElement(head_histogram, 1) AS head_steps,
                            tupleElement(head_histogram, 2) AS head_counts,
                            arrayCumSum(base_counts) AS base_below,
                            arrayCumSum(head_counts) AS head_below,
                            base_below[length(base_below)] AS nr_base,
                            head_below[length(head_below)] AS nr
                        FROM
                        (
                            SELECT
                                id,
                                sumMapIf(step_list, count_list, is_head = 0) AS base_histogram,
                                sumMapIf(step_list, count_list, is_head = 1) AS head_histogram,
                                groupArrayIf(step_list, is_head = 0) AS base_step_list,
                                groupArrayIf(count_list, is_head = 0) AS base_count_list,
                                groupArrayIf(step_list, is_head = 1) AS head_step_list,
                                groupArrayIf(count_list, is_head = 1) AS head_count_list,
                                maxIf(top, is_head = 0) AS base_max,
                                maxIf(top, is_head = 1) AS head_max
                            FROM
                            (
                                SELECT
                                    site AS id,
                                    version = {build:String} OR startsWith(build, {build:String}) AS is_head,
                                    sumMap(waitMap.bucket, waitMap.n) AS histogram,
                                    tupleElement(histogram, 1) AS step_list,
                                    tupleElement(histogram, 2) AS count_list,
                                    maxMerge(max_wait) AS top
                                FROM {waits_10s:Identifier}
                                WHERE mark = '' AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
                                    AND ({service:String} = '' OR service = {service:String})
                                    AND (version IN ({base:String}, {build:String}) OR startsWith(build, {base:String}) OR startsWith(build, {build:String}))
                                    AND ({site:String} = '' OR site GLOBAL IN
                                        (SELECT site FROM {sites:Identifier}
                                         WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
                                GROUP BY site, is_head, intDiv(ts, 1000000000 * {step:UInt32})
                            )
                            GROUP BY id
                        )
                    )
                    WHERE nr_base + nr > 0
                )
            )
        )
    )
) AS answer
ANY LEFT JOIN
(
    SELECT site AS id, any(concat(file, ':', toString(line), ' ', function)) AS place
    FROM {sites:Identifier}
    GROUP BY site
) AS names
USING (id)
ORDER BY indexOf(['slower', 'faster', 'new', 'gone', 'same', 'too few'], verdict), abs(sigma) DESC, waits DESC, id
LIMIT {limit:UInt32}
