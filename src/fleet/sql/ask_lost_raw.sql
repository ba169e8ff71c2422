-- lost: waits that had not ended when their run ended, by site.
--
-- Many are as they should be: a server ends while it accepts connections.  A lost wakeup is a wait
-- that is much longer than waits at its site usually are ("overdue"), often on few hosts.
--   overdue     open for more than 10 times the p99 of the site's ended waits
--   waits       open in all; woken: of these, woken and not resumed
--   hosts, of   hosts with such a wait, and hosts that ran the service in this time
SELECT
    overdue,
    waits,
    woken,
    hosts,
    (
        SELECT uniqExact(host)
        FROM {runs:Identifier}
        WHERE greatest(last_ts, start_ts) >= toInt64({since:UInt32}) * 1000000000 AND start_ts < toInt64({until:UInt32}) * 1000000000
            AND ({service:String} = '' OR service = {service:String})
    ) AS of,
    longest_ns,
    usual_p99_ns,
    most_on,
    if(id = 0, '(unknown site)', if(place = '', concat('site ', lower(hex(id))), place)) AS site
FROM
(
    SELECT
        id,
        sum(sample * (usual_ns > 0 AND open_ns > 10 * usual_ns)) AS overdue,
        sum(sample) AS waits,
        sum(sample * is_woken) AS woken,
        uniqExact(host) AS hosts,
        max(open_ns) AS longest_ns,
        any(usual_ns) AS usual_p99_ns,
        topK(1)(host)[1] AS most_on
    FROM
    (
        SELECT id, host, sample, is_woken, toUInt64(if(run_end > ts, run_end - ts, 0)) AS open_ns
        FROM
        (
            SELECT site AS id, toString(host) AS host, toString(run) AS run, sample, ts, state = 'woken' AS is_woken
            FROM {waits:Identifier}
            WHERE state IN ('open', 'woken')
                AND ({service:String} = '' OR service = {service:String})
                AND ({host:String} = '' OR host = {host:String})
                AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
                AND ({site:String} = '' OR site GLOBAL IN
                    (SELECT site FROM {sites:Identifier}
                     WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
        ) AS opened
        ANY LEFT JOIN
        (
            SELECT run, max(last_ts) AS run_end
            FROM {runs:Identifier}
            WHERE greatest(last_ts, start_ts) >= toInt64({since:UInt32}) * 1000000000 AND start_ts < toInt64({until:UInt32}) * 1000000000
            GROUP BY run
        ) AS ends
        USING (run)
        WHERE run_end > 0
    ) AS timed
    ANY LEFT JOIN
    (
        -- How long a wait at the site usually takes: see ask_slowest.sql.
        SELECT
            id,
            toUInt64(if(ended = 0, 0, least(toFloat64(max_ns), if(steps[i] = 0, 0, exp2(steps[i] - 1 + (0.99 * ended - if(i > 1, below[i - 1], 0)) / counts[i]))))) AS usual_ns
        FROM
        (
            SELECT id, max_ns, steps, counts, below, ended, arrayFirstIndex(n -> n >= 0.99 * ended, below) AS i
            FROM
            (
                SELECT
                    id, max_ns,
                    tupleElement(histogram, 1) AS steps,
                    tupleElement(histogram, 2) AS counts,
                    arrayCumSum(counts) AS below,
                    below[length(below)] AS ended
                FROM
                (
                    SELECT site AS id, maxMerge(max_wait) AS max_ns, sumMap(waitMap.bucket, waitMap.n) AS histogram
                    FROM {waits_10s:Identifier}
                    WHERE mark = '' AND ({service:String} = '' OR service = {service:String})
                    GROUP BY site
                )
            )
        )
    ) AS usual
    USING (id)
    GROUP BY id
    ORDER BY overdue DESC, waits DESC, id
    LIMIT {limit:UInt32}
) AS answer
ANY LEFT JOIN
(
    SELECT site AS id, any(concat(file, ':', toString(line), ' ', function)) AS place
    FROM {sites:Identifier}
    GROUP BY site
) AS names
USING (id)
ORDER BY overdue DESC, waits DESC, id
