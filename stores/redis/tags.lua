-- The beginning of take.lua and createtag.lua: the role, the eviction policy, the history and the clock, at the
-- instant at which the rest of the script runs.
-- KEYS: the hash of the pool's tags.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
	return redis.error_reply('READONLY this server is a replica')
end
local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)') or ''
if string.find(policy, 'allkeys', 1, true) == 1 then
	return {'policy', policy}
end
local replicationID = string.match(replication, 'master_replid:(%x+)')
local runID = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if not replicationID or not runID then
	return {'no history'}
end
local server = replicationID .. '/' .. runID
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) -- in milliseconds

-- decimal returns an integer below 2^53 as text. Lua's own conversion keeps 14 digits.
local function decimal(n)
	return string.format('%.0f', n)
end
