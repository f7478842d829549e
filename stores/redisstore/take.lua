-- Reserves a range of a tag's numbers. It comes after tags.lua.
-- ARGV: the failover gap; the tag; how many numbers, or 0 for the tag's step; AtLeast.
-- Reply: 'range', the counter before, how many numbers were skipped, how many are in the range, the step; or 'no
-- tag' and 'pool' if the pool has a record; or 'set back' or 'exhausted', the counter and how many numbers would
-- have been skipped; or 'damaged', a field and its value. Everything but 'range' has changed nothing.
local tag, size, atLeast = ARGV[2], tonumber(ARGV[3]), ARGV[4]
local counter, step, skipped = unpack(redis.call('HMGET', KEYS[2], 'next:' .. tag, 'step:' .. tag, 'skip:' .. tag))
if not counter and not step and not skipped then
	return {'no tag', history and 'pool' or ''}
end
if not isNumber(counter, maxCounter) then
	return {'damaged', 'next:' .. tag, counter or ''}
end
if step == '0' or not isNumber(step, '1099511627776') then
	return {'damaged', 'step:' .. tag, step or ''}
end
if skipped and not isNumber(skipped, maxSkip) then
	return {'damaged', 'skip:' .. tag, skipped}
end
local jump = 0
if gap > 0 then
	jump = math.max(skip - tonumber(skipped or '0'), 0)
end
if difference(atLeast, counter) > jump then
	return {'set back', counter, decimal(jump)}
end
if size == 0 then
	size = tonumber(step)
end
size = math.min(size, difference(maxCounter, counter) - jump)
if size < 1 then
	return {'exhausted', counter, decimal(jump)}
end
if jump > 0 then
	fields[#fields + 1] = 'skip:' .. tag
	fields[#fields + 1] = decimal(skip)
end
noteServers()
redis.call('HINCRBY', KEYS[2], 'next:' .. tag, decimal(jump + size))
redis.call('HSET', KEYS[2], unpack(fields))
return {'range', counter, decimal(jump), decimal(size), step}
