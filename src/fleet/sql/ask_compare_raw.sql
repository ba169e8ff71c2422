-- compare, from single waits: t-digest percentiles (see ask_slowest_raw.sql), and the standard error
-- from how much runs of the same build differ; fewer than 5 runs of a build are too few.  ask_compare.sql explains the columns.
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
        id,
        sumIf(n, is_head = 0) AS nr_base,
        sumIf(n, is_head = 1) AS nr,
        least(countIf(is_head = 0), countIf(is_head = 1)) AS parts,
        quantilesTDigestWeightedMergeIf(0.5, 0.99)(digest, is_head = 0) AS base_quantiles,
        quantilesTDigestWeightedMergeIf(0.5, 0.99)(digest, is_head = 1) AS head_quantiles,
        if(nr_base = 0, 0, base_quantiles[1]) AS base_p50,
        if(nr = 0, 0, head_quantiles[1]) AS head_p50,
        if(nr_base = 0, 0, base_quantiles[2]) AS base_p99,
        if(nr = 0, 0, head_quantiles[2]) AS head_p99,
        sumIf(x50, is_head = 0) / nr_base AS base_share50,
        sumIf(x50, is_head = 1) / nr AS share50,
        sumIf(x99, is_head = 0) / nr_base AS base_share99,
        sumIf(x99, is_head = 1) / nr AS share99,
        (share50 - base_share50) / sqrt(1e-12 + greatest(
            (base_share50 + share50) / 2 * (1 - (base_share50 + share50) / 2) * (1 / nr_base + 1 / nr),
            (sumIf(x50 * x50, is_head = 0) - 2 * base_share50 * sumIf(x50 * n, is_head = 0)
                + base_share50 * base_share50 * sumIf(n * n, is_head = 0)) / pow(nr_base, 2)
            + (sumIf(x50 * x50, is_head = 1) - 2 * share50 * sumIf(x50 * n, is_head = 1)
                + share50 * share50 * sumIf(n * n, is_head = 1)) / pow(nr, 2))) AS sigma50,
        (share99 - base_share99) / sqrt(1e-12 + greatest(
            (base_share99 + share99) / 2 * (1 - (base_share99 + share99) / 2) * (1 / nr_base + 1 / nr),
            (sumIf(x99 * x99, is_head = 0) - 2 * base_share99 * sumIf(x99 * n, is_head = 0)
                + base_share99 * base_share99 * sumIf(n * n, is_head = 0)) / pow(nr_base, 2)
            + (sumIf(x99 * x99, is_head = 1) - 2 * share99 * sumIf(x99 * n, is_head = 1)
                + share99 * share99 * sumIf(n * n, is_head = 1)) / pow(nr, 2))) AS sigma99,
        if(nr_base = 0 OR nr = 0, 0, if(abs(sigma50) > abs(sigma99), sigma50, sigma99)) AS sigma
    FROM
    (
        SELECT
            site AS id,
            version = {build:String} OR startsWith(build, {build:String}) AS is_head,
            sum(sample) AS n,
            sum(sample * (wait_ns > usual[1])) AS x50, -- longer than the base's p50
            sum(sample * (wait_ns > usual[2])) AS x99,
            quantilesTDigestWeightedState(0.5, 0.99)(wait_ns, sample) AS digest
        FROM {waits:Identifier}
        GLOBAL ANY LEFT JOIN
        (
            SELECT site, quantilesTDigestWeighted(0.5, 0.99)(wait_ns, sample) AS usual
            FROM {waits:Identifier}
            WHERE state IN ('resumed', 'closed')
                AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
                AND ({service:String} = '' OR service = {service:String})
                AND ({host:String} = '' OR host = {host:String})
                AND (version = {base:String} OR startsWith(build, {base:String}))
            GROUP BY site
        ) AS base_quantiles
        USING (site)
        WHERE state IN ('resumed', 'closed')
            AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
            AND ({service:String} = '' OR service = {service:String})
            AND ({host:String} = '' OR host = {host:String})
            AND (version IN ({base:String}, {build:String}) OR startsWith(build, {base:String}) OR startsWith(build, {build:String}))
            AND ({site:String} = '' OR site GLOBAL IN
                (SELECT site FROM {sites:Identifier}
                 WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
        GROUP BY site, is_head, run
    )
    GROUP BY id
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
