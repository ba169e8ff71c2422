-- What there is: each service with its builds, newest first.
SELECT
    service,
    arrayMap(x -> tupleElement(x, 2), arrayReverseSort(groupArray(tuple(newest, build)))) AS builds,
    arrayMap(x -> tupleElement(x, 2), arrayReverseSort(groupArray(tuple(newest, version)))) AS versions,
    -- As compare calls them: the label of the user, otherwise the build-id.
    arrayMap(x -> tupleElement(x, 2), arrayReverseSort(groupArray(tuple(newest, if(version = '', build, version))))) AS names,
    intDiv(max(newest), 1000000000) AS last_s,
    toString(toDateTime(intDiv(min(oldest), 1000000000)), 'UTC') AS first,
    toString(toDateTime(intDiv(max(newest), 1000000000)), 'UTC') AS last
FROM
(
    SELECT service, build, version, max(greatest(last_ts, start_ts)) AS newest, min(start_ts) AS oldest
    FROM {runs:Identifier}
    GROUP BY service, build, version
)
GROUP BY service
ORDER BY service
