-- graph: who waits for whom.  One row for each pair of a site where coroutines wait and a site that
-- wakes them.
SELECT
    waits,
    toUInt64(if(quantiles[1] >= 0, quantiles[1], 0)) AS p50_ns,
    toUInt64(if(quantiles[2] >= 0, quantiles[2], 0)) AS p99_ns,
    total_ns,
    if(id = 0, '(unknown site)', if(place = '', concat('site ', lower(hex(id))), place)) AS site,
    if(wake_id = 0, '(no site)', if(wake_place = '', concat('site ', lower(hex(wake_id))), wake_place)) AS woken_at
FROM
(
    SELECT waits, quantiles, total_ns, id, wake_id, place
    FROM
    (
        SELECT
            site AS id,
            wake_site AS wake_id,
            sum(sample) AS waits,
            sum(wait_ns * sample) AS total_ns,
            quantilesTDigestWeighted(0.5, 0.99)(wait_ns, sample) AS quantiles
        FROM {waits:Identifier}
        WHERE state = 'resumed' AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
            AND ({service:String} = '' OR service = {service:String})
            AND ({host:String} = '' OR host = {host:String})
            AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
            AND ({site:String} = '' OR site GLOBAL IN
                (SELECT site FROM {sites:Identifier}
                 WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
        GROUP BY site, wake_site
        ORDER BY total_ns DESC, id, wake_id
        LIMIT {limit:UInt32}
    ) AS answer
    ANY LEFT JOIN
    (
        SELECT site AS id, any(concat(file, ':', toString(line), ' ', function)) AS place
        FROM {sites:Identifier}
        GROUP BY site
    ) AS names
    USING (id)
) AS named
ANY LEFT JOIN
(
    SELECT site AS wake_id, any(concat(file, ':', toString(line), ' ', function)) AS wake_place
    FROM {sites:Identifier}
    GROUP BY site
) AS wake_names
USING (wake_id)
ORDER BY total_ns DESC, id, wake_id
