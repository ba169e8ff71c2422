-- latency: how long coroutines that are ready wait for a thread, over time and by build.
--
-- Reads the aggregates of 10 s.  The percentiles are wrong by less than a factor of two: see
-- ask_slowest.sql.
SELECT
    toString(toDateTime(t), 'UTC') AS time_utc,
    if(label = '', substring(b, 1, 12), label) AS build,
    resumes,
    toUInt64(least(toFloat64(top), if(steps[i50] = 0, 0, exp2(steps[i50] - 1 + (0.50 * resumes - if(i50 > 1, below[i50 - 1], 0)) / counts[i50])))) AS p50_ns,
    toUInt64(least(toFloat64(top), if(steps[i99] = 0, 0, exp2(steps[i99] - 1 + (0.99 * resumes - if(i99 > 1, below[i99 - 1], 0)) / counts[i99])))) AS p99_ns,
    top AS max_ns
FROM
(
    SELECT
        t, b, label, top, steps, counts, below, resumes,
        arrayFirstIndex(n -> n >= 0.50 * resumes, below) AS i50,
        arrayFirstIndex(n -> n >= 0.99 * resumes, below) AS i99
    FROM
    (
        SELECT
            t, b, label, top,
            tupleElement(histogram, 1) AS steps,
            tupleElement(histogram, 2) AS counts,
            arrayCumSum(counts) AS below,
            below[length(below)] AS resumes
        FROM
        (
            SELECT
                intDiv(ts, 1000000000 * {step:UInt32}) * {step:UInt32} AS t,
                toString(build) AS b,
                toString(version) AS label,
                maxMerge(max_ready) AS top,
                sumMap(readyMap.bucket, readyMap.n) AS histogram
            FROM {waits_10s:Identifier}
            WHERE mark = '' AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
                AND ({service:String} = '' OR service = {service:String})
                AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
                AND ({site:String} = '' OR site GLOBAL IN
                    (SELECT site FROM {sites:Identifier}
                     WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
            GROUP BY t, b, label
        )
    )
    WHERE resumes > 0
)
ORDER BY t DESC, build
LIMIT {limit:UInt32}
