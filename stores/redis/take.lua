-- Reserves a range of a tag's numbers. It comes after tags.lua.
-- ARGV: the tag; how many numbers, or 0 for the tag's step; AtLeast; the failover gap; AtLeast minus the gap, or 0 if
-- that is negative.
-- Reply: 'range', the counter before, the gap that was added to it or 0, how many numbers, the step; or
-- 'no tag' and 'pool' if the pool has a record; or 'set back' or 'exhausted', the counter and the gap that would have been
-- added; or 'damaged', a field and its value. Everything but 'range' has changed nothing.
local tag = ARGV[1]
local poolHistory, counter, step, history = unpack(redis.call('HMGET', KEYS[1],
	'history', 'next:' .. tag, 'step:' .. tag, 'history:' .. tag))
if not counter and not step and not history then
	return {'no tag', poolHistory and 'pool' or ''}
end

-- halves returns the digits of a decimal number before the last nine, and the last nine. Lua's numbers have 53 bits.
local function halves(text)
	return tonumber(string.sub(text, 1, -10)) or 0, tonumber(string.sub(text, -9))
end

-- difference returns a - b, of decimal numbers of at most 19 digits. If it is 2^52 or more, it is not exact, but its
-- sign is right, and it is at least about 2^52.
local function difference(a, b)
	local aHigh, aLow = halves(a)
	local bHigh, bLow = halves(b)
	return (aHigh - bHigh) * 1e9 + (aLow - bLow)
end

-- isNumber reports whether text is a decimal number from 0 to max.
local function isNumber(text, max)
	return text and (text == '0' or string.find(text, '^[1-9]%d*$')) and #text <= #max and difference(text, max) <= 0
end

local maxCounter = '9223372036854775807'
if not isNumber(counter, maxCounter) then
	return {'damaged', 'next:' .. tag, counter or ''}
end
if step == '0' or not isNumber(step, '1099511627776') then
	return {'damaged', 'step:' .. tag, step or ''}
end
local size, gap, atLeast = tonumber(ARGV[2]), 0, ARGV[3]
if size == 0 then
	size = tonumber(step)
end
if history ~= server then
	gap, atLeast = tonumber(ARGV[4]), ARGV[5]
end
if difference(counter, atLeast) < 0 then
	return {'set back', counter, decimal(gap)}
end
size = math.min(size, difference(maxCounter, counter) - gap)
if size < 1 then
	return {'exhausted', counter, decimal(gap)}
end
redis.call('HINCRBY', KEYS[1], 'next:' .. tag, decimal(gap + size))
if gap > 0 then
	redis.call('HSET', KEYS[1], 'history:' .. tag, server)
end
if poolHistory ~= server then
	redis.call('HSET', KEYS[1], 'history', server, 'since', decimal(now))
end
return {'range', counter, decimal(gap), decimal(size), step}
