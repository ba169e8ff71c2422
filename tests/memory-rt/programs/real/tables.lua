-- Tables, strings and closures with known results.
local n = tonumber(arg[1]) or 20000
local t, names = {}, {}
for i = 1, n do t[i] = (i * 7919) % n end
for i = 1, n do names["key" .. t[i]] = i end
local sum = 0
for k, v in pairs(names) do sum = sum + v end
print(sum)
table.sort(t)
print(t[1], t[n])
local parts = {}
for i = 1, n // 10 do parts[#parts + 1] = string.format("%d", names["key" .. i]) end
print(#table.concat(parts, ","))
local Point = {}
Point.__index = Point
local list
for i = 1, n do list = setmetatable({ x = i, y = 2 * i, next = list }, Point) end
local x, y = 0, 0
while list do x, y, list = x + list.x, y + list.y, list.next end
print(x, y)
