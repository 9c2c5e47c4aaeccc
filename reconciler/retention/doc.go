// Package retention removes expired data. It defines what is stored for how long, where Logs and
// History are those of Options:
//
//	data                                 retention  never removed
//	log chunks                           Logs       of a job that has not ended
//	workflows with their steps, plans,   History    the newest of an install; one with a plan that
//	reports and answers                             waits, runs or was the last applied to its
//	                                                component; one that a refusal refers to
//	jobs with their attempts             History    while their step or plan exists, they hold a lock,
//	                                                or a state that they wrote is contested
//	superseded state versions            History    the newest "kept" one, the last 50, contested
//	                                                ones; none while a restore runs on the install
//	revisions                            History    the newest of a watch, and those of app versions
//	                                                and inputs
//	registrations, used or expired       Logs       one that can still be used
//	idempotency keys                     7 days     (each create removes its org's, too)
//	webhook deliveries                   1 day      (a redelivery after that costs a poll)
//	apps, versions, inputs, builds,      unlimited  all: they are what things are made from, and small
//	installs, values, refusals, tokens
//	audit events                         unlimited  the program's role may not delete them
//
// It removes nothing from registries: package garbage does, on request.
//
// It runs once a day for each org, in batches of one short transaction each, and continues later
// if the time was not enough. The queue's worker calls it, and `reconciler retain`.
package retention
