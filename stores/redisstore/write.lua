-- Compares and swaps the pool's record and slots, together with the history. It comes after primary.lua. It checks
-- everything first, so that it writes everything or nothing.
-- KEYS: the pool's hash, the index of its slots by the time at which they become free.
-- ARGV: the history as 'replication ID/run ID'; the pool's ID; the pool's new record or ''; history, since, floor and
-- slots of the record that it replaces, separated by spaces; and then the slots, each as its worker ID, its new record,
-- and the token and until of the record that it replaces, separated by a space. What a new record replaces is not read.
-- Reply: 1 if the records are written, otherwise 0.
local history = replicationID .. '/' .. (string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '')
if history ~= ARGV[1] then
	return 0
end
local id, slots = unpack(redis.call('HMGET', KEYS[1], 'id', 'slots'))
if id ~= ARGV[2] then
	return 0 -- the pool was deleted, and may be another one now
end

-- get returns the record of a field. One that is not there has the revision 0.
local function get(field)
	local record = redis.call('HGET', KEYS[1], field)
	return record and cjson.decode(record) or {revision = 0, name = ''}
end

local values = {}
local function set(field, value)
	values[#values + 1] = field
	values[#values + 1] = value
end

if ARGV[3] ~= '' then
	local old = get('pool')
	if old.revision ~= cjson.decode(ARGV[3]).revision - 1 or
		old.revision > 0 and string.format('%s %.0f %.0f %.0f', old.history, old.since, old.floor, old.slots) ~= ARGV[4] then
		return 0
	end
	set('pool', ARGV[3])
end

local lists = {} -- for each name: the worker IDs of the slots whose last holder has it, as a set
local function list(name)
	if not lists[name] then
		lists[name] = {}
		for slot in string.gmatch(redis.call('HGET', KEYS[1], 'name:' .. name) or '', '%d+') do
			lists[name][slot] = true
		end
	end
	return lists[name]
end

local scores = {}
slots = tonumber(slots or '0')
for i = 5, #ARGV, 3 do
	local slot, value = ARGV[i], ARGV[i + 1]
	local old, new = get('slot:' .. slot), cjson.decode(value)
	-- A server that was replaced and returns has another record of this revision.
	if old.revision ~= new.revision - 1 or
		old.revision > 0 and old.token .. ' ' .. string.format('%.0f', old['until']) ~= ARGV[i + 2] then
		return 0
	end
	set('slot:' .. slot, value)
	scores[#scores + 1] = string.format('%.0f', new.freeAt)
	scores[#scores + 1] = slot
	if old.revision == 0 then
		slots = slots + 1
	end
	if old.name ~= new.name then
		if old.name ~= '' then
			list(old.name)[slot] = nil
		end
		if new.name ~= '' then
			list(new.name)[slot] = true
		end
	end
end
if #values == 0 then
	return 1 -- there is nothing to write
end

redis.call('ZCARD', KEYS[2]) -- fails here, and not later, if the key has another type
set('slots', slots)
local unused = {}
for name, members in pairs(lists) do
	local ids = {}
	for slot in pairs(members) do
		ids[#ids + 1] = slot
	end
	if #ids > 0 then
		table.sort(ids)
		set('name:' .. name, table.concat(ids, ','))
	else
		unused[#unused + 1] = 'name:' .. name
	end
end
noteServers()
-- unpack has a limit.
for i = 1, #values, 1000 do
	redis.call('HSET', KEYS[1], unpack(values, i, math.min(i + 999, #values)))
end
for _, field in ipairs(unused) do
	redis.call('HDEL', KEYS[1], field)
end
for i = 1, #scores, 1000 do
	redis.call('ZADD', KEYS[2], unpack(scores, i, math.min(i + 999, #scores)))
end
return 1
