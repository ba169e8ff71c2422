-- slowest: where coroutines wait, and how long.
--
-- Reads the aggregates of 10 s.  Percentiles come from histograms whose steps double: within a step
-- the position of the rank is taken on a logarithmic scale.  The true value is in the same step, so
-- the result is wrong by less than a factor of two.  ask_slowest_raw.sql reads the single waits.
SELECT
    waits,
    toUInt64(least(toFloat64(max_ns), if(steps[i50] = 0, 0, exp2(steps[i50] - 1 + (0.50 * ended - if(i50 > 1, below[i50 - 1], 0)) / counts[i50])))) AS p50_ns,
    toUInt64(least(toFloat64(max_ns), if(steps[i99] = 0, 0, exp2(steps[i99] - 1 + (0.99 * ended - if(i99 > 1, below[i99 - 1], 0)) / counts[i99])))) AS p99_ns,
    max_ns,
    total_ns,
    if(id = 0, '(unknown site)', if(place = '', concat('site ', lower(hex(id))), place)) AS site
FROM
(
    SELECT
        id, waits, total_ns, max_ns, steps, counts, below, ended,
        arrayFirstIndex(n -> n >= 0.50 * ended, below) AS i50,
        arrayFirstIndex(n -> n >= 0.99 * ended, below) AS i99
    FROM
    (
        SELECT
            id, waits, total_ns, max_ns,
            tupleElement(histogram, 1) AS steps,   -- step s: from 2^(s-1) ns up to 2^s ns; 0: no time
            tupleElement(histogram, 2) AS counts,
            arrayCumSum(counts) AS below,          -- waits up to the end of each step
            below[length(below)] AS ended
        FROM
        (
            SELECT
                site AS id,
                sum(count) AS waits,
                sum(wait_ns) AS total_ns,
                maxMerge(max_wait) AS max_ns,
                sumMap(waitMap.bucket, waitMap.n) AS histogram
            FROM {waits_10s:Identifier}
            WHERE mark = '' AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
                AND ({service:String} = '' OR service = {service:String})
                AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
                AND ({site:String} = '' OR site GLOBAL IN
                    (SELECT site FROM {sites:Identifier}
                     WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
            GROUP BY site
            ORDER BY total_ns DESC, id
            LIMIT {limit:UInt32}
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
ORDER BY total_ns DESC, id
