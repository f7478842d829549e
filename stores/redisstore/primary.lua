-- The beginning of the scripts that write: checks that the server is a primary, and that enough replicas are attached to
-- acknowledge what the script writes.
-- KEYS[1]: the hash of the pool's slots. ARGV[1], which is removed: how many replicas the client waits for, and
-- ' declared' if WithReplicas has set that.
-- Errors, after which nothing was changed: READONLY; 'REPLICAS' and how many replicas the client must wait for;
-- NOREPLICAS; SERVERS.
--
-- A write counts when more than half of all servers have it. So of two primaries one can go on at most, and it cannot once
-- enough of its replicas have left it, unless they come back to it: operators must prevent that (doc.go, "Which writes count").
-- The field 'servers' of the hash is how many servers there are: the greatest number that a primary has seen. It is one number
-- for slots and tags, so that a former primary cannot begin anew with tags. A server that has not received a greater number may
-- be promoted, and would require fewer. So the new number is first '5 3': 5 servers, of which some may know of 3 only; then
-- '5 3 <replication ID> <offset>': a server that has acknowledged this offset knows it; and '5' when all have. A server that
-- has lost its data has lost the number too.
-- A primary that knows that it has too few replicas writes nothing: what it wrote would look later as if it had counted, such as
-- a floor that was calculated when another primary still had a majority. What it writes while it does not know that they have gone
-- looks like that too, but counts only if a replica has gone to the other primary, and comes back.
local replication = redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then
	return redis.error_reply('READONLY this server is a replica')
end
local replicationID = string.match(replication, 'master_replid:(%x+)') or ''
local stored = redis.call('HGET', KEYS[1], 'servers') or ''
local updated = stored == '' and '1' or stored
local servers, fewer, id, offset = string.match(updated .. ' ', '^(%d+) (%d*) ?(%x*) ?(%d*) ?$')
if not servers then
	return redis.error_reply('SERVERS the field servers of the hash ' .. KEYS[1] .. ' is no number')
end
servers = tonumber(servers)

-- The replicas by their addresses, because one that has connected again may be there twice: whether they know the number.
local addresses, online, informed = {}, 1, 1 -- with this server
for address, acknowledged in string.gmatch(replication, '(ip=[^,]*,port=%d+),state=online,offset=(%d+)') do
	if addresses[address] == nil then
		addresses[address], online = false, online + 1
	end
	if not addresses[address] and id ~= '' and id == replicationID and tonumber(acknowledged) >= tonumber(offset) then
		addresses[address], informed = true, informed + 1
	end
end
if online > servers then
	if fewer == '' then
		fewer = tostring(servers)
	end
	servers = online
	updated = servers .. ' ' .. fewer
elseif fewer ~= '' and id ~= replicationID then -- what was written before has an offset by now
	updated = servers .. ' ' .. fewer .. ' ' .. replicationID .. ' ' .. string.match(replication, 'master_repl_offset:(%d+)')
elseif fewer ~= '' and informed >= servers then
	updated, fewer = tostring(servers), ''
end

-- With this server, more than half of the servers, and so many that the others are not more than half of fewer.
local needed = math.floor(servers / 2)
if fewer ~= '' then
	needed = math.max(needed, servers - math.floor(tonumber(fewer) / 2) - 1)
end
local waits, declared = string.match(table.remove(ARGV, 1), '^(%d+)(.*)$')
if declared == '' and tonumber(waits) ~= needed then
	return redis.error_reply('REPLICAS ' .. needed)
end
if online - 1 < tonumber(waits) then
	return redis.error_reply('NOREPLICAS ' .. online - 1 .. ' replicas are attached to the primary; must be at least ' .. waits)
end

-- noteServers writes the number if it has changed. It is called when nothing prevents the script from writing any more.
local function noteServers()
	if updated ~= stored then
		redis.call('HSET', KEYS[1], 'servers', updated)
	end
end
