-- The beginning of take.lua and createtag.lua, after primary.lua: checks the eviction policy, and notices a change of
-- the history.
-- KEYS: the hash of the pool's slots, the hash of its tags. ARGV[1]: the failover gap, or 0 to notice nothing.
--
-- Fields of the pool: 'history', the server's replication ID and run ID at the last change; 'skip', how many
-- numbers each tag of the pool has to have skipped since the pool exists; 'changes', for each change of the history
-- its time and the value of 'skip' before it; 'at', the time of the last write. Times are Unix milliseconds. A tag
-- has the value of 'skip' in 'skip:<tag>' up to which it has skipped numbers. So a tag skips once for each change,
-- also if it is used much later.
local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)') or ''
if string.find(policy, 'allkeys', 1, true) == 1 then
	return {'policy', policy}
end
local runID = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if replicationID == '' or not runID then
	return {'no history'}
end

-- decimal returns an integer below 2^53 as text. Lua's own conversion keeps 14 digits.
local function decimal(n)
	return string.format('%.0f', n)
end

-- halves returns the digits of a decimal number before the last nine, and the last nine. Lua's numbers have 53 bits.
local function halves(text)
	return tonumber(string.sub(text, 1, -10)) or 0, tonumber(string.sub(text, -9))
end

-- difference returns a - b, of decimal numbers of at most 19 digits. It is exact up to 2^52. Beyond that it is at
-- least 2^52, with the right sign.
local function difference(a, b)
	local aHigh, aLow = halves(a)
	local bHigh, bLow = halves(b)
	return (aHigh - bHigh) * 1e9 + (aLow - bLow)
end

-- isNumber reports whether text is a decimal number from 0 to max.
local function isNumber(text, max)
	return text and (text == '0' or string.find(text, '^[1-9]%d*$')) and #text <= #max and difference(text, max) <= 0
end

local maxCounter, maxSkip = '9223372036854775807', '2251799813685248' -- 2^63-1, 2^51
local gap, server, time = tonumber(ARGV[1]), replicationID .. '/' .. runID, redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local history, skip, changes, at = unpack(redis.call('HMGET', KEYS[2], 'history', 'skip', 'changes', 'at'))
if history and not isNumber(skip, maxSkip) then
	return {'damaged', 'skip', skip or ''}
end
skip = tonumber(skip or '0')
local fields = {'at', decimal(now)} -- what every write sets
if history ~= server and (gap > 0 or not history) then
	-- What the server has lost was written after 'at'. Numbers that were handed out after an earlier change, of
	-- which the server has lost the record too, are not reached, because that change was earlier, so it has skipped
	-- less.
	-- 'at' may be later than now, because clocks differ. Up to 10 s are no time. If it is more, the result must
	-- still be greater for a later change: Lua's remainder of a negative number is positive, and rises with it.
	local last = tonumber(at or '') or now
	local elapsed = now - last
	if elapsed < 0 and elapsed >= -10000 then
		elapsed = 0
	end
	elapsed = elapsed % 1000000
	-- The change was after 'at', even if the clock shows an earlier time.
	changes = (changes or '') .. ' ' .. decimal(math.max(now, last)) .. '=' .. decimal(skip)
	skip = skip + gap + math.floor(gap * elapsed / 10000)
	local list = {}
	for change in string.gmatch(changes, '%d+=%d+') do
		list[#list + 1] = change
	end
	if #list > 20 then -- the second one takes what the first one has skipped
		list[2] = string.match(list[2], '%d+=') .. string.match(list[1], '%d+$')
		table.remove(list, 1)
	end
	changes = table.concat(list, ' ')
	fields = {'at', decimal(now), 'history', server, 'skip', decimal(skip), 'changes', changes}
end
