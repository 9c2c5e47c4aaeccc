// Package replicas tests several reconcilers on one Postgres, with the real programs: that nothing is done twice, that one of them can
// be stopped, killed or started beside a newer schema without anybody noticing, and that they bear a Postgres or a registry that goes
// away. It holds tests only.
package replicas
