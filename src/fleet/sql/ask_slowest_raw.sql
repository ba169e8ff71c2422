-- slowest, from single waits.  Percentiles are those of a t-digest: right within 1 % of the rank, in
-- memory that does not grow with the number of waits.
--
-- A wait that was sampled 1 in N counts N times.
SELECT
    waits,
    toUInt64(if(quantiles[1] >= 0, quantiles[1], 0)) AS p50_ns,
    toUInt64(if(quantiles[2] >= 0, quantiles[2], 0)) AS p99_ns,
    max_ns,
    total_ns,
    if(id = 0, '(unknown site)', if(place = '', concat('site ', lower(hex(id))), place)) AS site
FROM
(
    SELECT
        site AS id,
        sum(sample) AS waits,
        quantilesTDigestWeightedIf(0.5, 0.99)(wait_ns, sample, state IN ('resumed', 'closed')) AS quantiles,
        max(wait_ns) AS max_ns,
        sum(wait_ns * sample) AS total_ns
    FROM {waits:Identifier}
    WHERE ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
        AND ({service:String} = '' OR service = {service:String})
        AND ({host:String} = '' OR host = {host:String})
        AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
        AND ({site:String} = '' OR site GLOBAL IN
            (SELECT site FROM {sites:Identifier}
             WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
    GROUP BY site
    ORDER BY total_ns DESC, id
    LIMIT {limit:UInt32}
) AS answer
ANY LEFT JOIN
(
    SELECT site AS id, any(concat(file, ':', toString(line), ' ', function)) AS place
    FROM {sites:Identifier}
    GROUP BY site
) AS names
USING (id)
ORDER BY total_ns DESC, id
