// Package replicas tests several reconcilers on one Postgres, with the real programs. Nothing may
// be done twice; a replica can be stopped, killed or started with a newer schema without effect for
// users; and the replicas tolerate the loss of Postgres or the registry. It contains only tests.
package replicas
