-- Reads the pool, the slots that a query selects, the clock and the history, all at the same instant.
-- KEYS: the pool's hash, the index of its slots by the time at which they become free.
-- ARGV: how many free slots, a random number, a name or '', 'all' or '', a unique ID, and then worker IDs.
-- Reply: seconds and microseconds of the clock, replication ID, run ID, maxmemory-policy, the pool's ID,
-- its record or '', and then the slots, each as its worker ID and its record.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
	return redis.error_reply('READONLY this server is a replica')
end
local now = redis.call('TIME')
local pool = redis.call('HMGET', KEYS[1], 'id', 'pool', 'slots')
if not pool[1] then -- the pool is new, or was deleted: this ID tells the next one from it
	pool[1] = ARGV[5]
	redis.call('HSET', KEYS[1], 'id', ARGV[5])
	redis.call('DEL', KEYS[2])
end
local reply = {
	now[1], now[2],
	string.match(replication, 'master_replid:(%x+)') or '',
	string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '',
	string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)') or '',
	pool[1], pool[2] or '',
}

if ARGV[4] == 'all' then
	local fields = redis.call('HGETALL', KEYS[1])
	for i = 1, #fields, 2 do
		local id = string.match(fields[i], '^slot:(%d+)$')
		if id then
			reply[#reply + 1] = id
			reply[#reply + 1] = fields[i + 1]
		end
	end
	return reply
end

local ids, selected = {}, {}
local function selectSlot(id)
	if not selected[id] then
		selected[id] = true
		ids[#ids + 1] = id
	end
end

for i = 6, #ARGV do
	selectSlot(ARGV[i])
end
if ARGV[3] ~= '' then
	for id in string.gmatch(redis.call('HGET', KEYS[1], 'name:' .. ARGV[3]) or '', '%d+') do
		selectSlot(id)
	end
end
local free = tonumber(ARGV[1])
if free > 0 and pool[3] then
	if redis.call('ZCARD', KEYS[2]) ~= tonumber(pool[3]) then -- somebody deleted or changed the index
		redis.call('DEL', KEYS[2])
		local fields, slots = redis.call('HGETALL', KEYS[1]), 0
		for i = 1, #fields, 2 do
			local id = string.match(fields[i], '^slot:(%d+)$')
			if id then
				slots = slots + 1
				redis.call('ZADD', KEYS[2], string.format('%.0f', cjson.decode(fields[i + 1]).freeAt), id)
			end
		end
		redis.call('HSET', KEYS[1], 'slots', slots)
	end
	-- A window at a random place, so that processes that start together find different slots.
	local millis = string.format('%.0f', tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000))
	local count, first = redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. millis), 0
	if count > free then
		first = tonumber(ARGV[2]) % (count - free + 1)
		count = free
	end
	if count > 0 then
		for _, id in ipairs(redis.call('ZRANGE', KEYS[2], first, first + count - 1)) do
			selectSlot(id)
		end
	end
end
for i = 1, #ids, 1000 do -- unpack has a limit
	local fields = {}
	for j = i, math.min(i + 999, #ids) do
		fields[#fields + 1] = 'slot:' .. ids[j]
	end
	for j, record in ipairs(redis.call('HMGET', KEYS[1], unpack(fields))) do
		if record then
			reply[#reply + 1] = ids[i + j - 1]
			reply[#reply + 1] = record
		end
	end
end
return reply
