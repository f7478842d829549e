package connect

import (
	"context"
	"errors"
	"net/url"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// redisClient returns a function that returns a client of the address. The error says what is wrong with the URL.
func (a *address) redisClient() (func() goredis.UniversalClient, error) {
	switch a.redis {
	case redisCluster:
		config, err := a.clusterConfig()
		return func() goredis.UniversalClient { return goredis.NewClusterClient(config) }, err
	case redisSentinel:
		config, err := a.sentinelConfig()
		return func() goredis.UniversalClient { return goredis.NewFailoverClient(config) }, err
	}
	hosts := a.hostsWithPort("6379")
	if len(hosts) > 1 {
		return nil, errors.New("it has several hosts; must be one, the primary; or begin with redis-cluster:// or redis-sentinel://")
	}
	u := url.URL{Scheme: a.scheme, Host: hosts[0], Path: a.path, RawQuery: a.query}
	config, err := goredis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	config.Username, config.Password = a.user, a.password
	return func() goredis.UniversalClient { return goredis.NewClient(config) }, nil
}

// errReplicas is for parameters that let calls read from replicas, which may not have the last grants.
var errReplicas = errors.New("the parameters read_only, replica_only, use_disconnected_replicas, route_by_latency and route_randomly must not be set: all calls must reach the primary")

// clusterConfig returns the configuration of a client of Redis Cluster. Any of the hosts leads to all nodes.
func (a *address) clusterConfig() (*goredis.ClusterOptions, error) {
	if a.path != "" && a.path != "/" && a.path != "/0" {
		return nil, errors.New("it has a path; must be without one: a Redis Cluster has no numbered databases")
	}
	config, err := goredis.ParseClusterURL(a.redisURL("6379", ""))
	if err != nil {
		return nil, err
	}
	if config.ReadOnly || config.RouteByLatency || config.RouteRandomly {
		return nil, errReplicas
	}
	config.Username, config.Password = a.user, a.password
	if config.TLSConfig != nil {
		config.TLSConfig.ServerName = "" // that of the node
	}
	return config, nil
}

// sentinelConfig returns the configuration of a client that asks Sentinels for the primary. Its path is the name of the primary,
// and the number of the database if it is not 0.
func (a *address) sentinelConfig() (*goredis.FailoverOptions, error) {
	name, database, _ := strings.Cut(strings.TrimPrefix(a.path, "/"), "/")
	if name == "" {
		return nil, errors.New("it has no name of a primary; must be redis-sentinel://host:26379,host:26379/name, with the name of the Sentinels' configuration, such as mymaster")
	}
	query, err := url.ParseQuery(a.query)
	if err != nil {
		return nil, errors.New("its parameters are not valid: " + err.Error())
	}
	for _, own := range []string{"master_name", "username", "password"} {
		if query.Has(own) {
			return nil, errors.New("the parameter " + own + " must not be set; must be a part of the URL: redis-sentinel://user:password@host:26379/name")
		}
	}
	user, password := query.Get("sentinel_username"), query.Get("sentinel_password")
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	rest := *a
	rest.query = query.Encode()
	config, err := goredis.ParseFailoverURL(rest.redisURL("26379", database))
	if err != nil {
		return nil, err
	}
	if config.RouteByLatency || config.RouteRandomly || config.ReplicaOnly || config.UseDisconnectedReplicas {
		return nil, errReplicas
	}
	if !query.Has("dialer_retries") {
		config.DialerRetries = 1 // by default, 25 times for each call: a Sentinel that is down would not be an error in time
	}
	config.MasterName = name
	config.Username, config.Password = a.user, a.password
	config.SentinelUsername, config.SentinelPassword = user, password
	if config.TLSConfig != nil {
		config.TLSConfig.ServerName = "" // that of the server
	}
	return config, nil
}

// redisURL returns a URL with the form that go-redis has for several hosts, without the password.
func (a *address) redisURL(port, database string) string {
	hosts := a.hostsWithPort(port)
	query := a.query
	for _, h := range hosts[1:] {
		query += "&addr=" + url.QueryEscape(h)
	}
	scheme, _, _ := strings.Cut(a.scheme, "-")
	return (&url.URL{Scheme: scheme, Host: hosts[0], Path: "/" + database, RawQuery: strings.TrimPrefix(query, "&")}).String()
}

// RedisPrimary returns a client of the server that has a key: of the primary, or of the node of a Redis Cluster. The caller must not
// close it. It blocks until a cluster answers or ctx ends.
func (s *Store) RedisPrimary(ctx context.Context, key string) (*goredis.Client, error) {
	if c, ok := s.clients.Redis.(*goredis.ClusterClient); ok {
		return c.MasterForKey(ctx, key)
	}
	return s.clients.Redis.(*goredis.Client), nil // of redisClient
}
