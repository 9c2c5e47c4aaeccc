// Package retain removes what has been kept for long enough. It owns what is kept for how long:
//
//	what                                   kept for                 never removed
//	log chunks                             Options.Logs             of a job that has not ended
//	workflows with their steps, plans,     Options.History          the newest of an install; one with a plan that waits, is under way
//	reports and answers                                             or is the last applied to its component; one that a refusal names
//	jobs with their attempts               Options.History          while their step or plan is there, they hold a lock, or a state that
//	                                                                they left is contested
//	superseded state versions              Options.History          the newest kept one, the last 50, contested ones; none while a
//	                                                                restore runs on the install
//	revisions                              Options.History          the newest of a watch, and what an app version or an input came from
//	registrations, used or run out         Options.Logs             one that can still be used
//	idempotency keys                       7 days                   (each create removes its org's, too)
//	webhook deliveries                     1 day                    (the same delivery again then costs a poll)
//	apps, versions, inputs, builds,        as long as they are      all: they are what things are made from, and small
//	installs, values, refusals, tokens
//	audit events                           for ever                 the program's role may not delete them
//
// It removes nothing in registries: an artifact is there under its digest for whoever still names it, also outside of this
// database, and a sweep beside writers cannot know that a push is under way that names an old one.
//
// It runs once a day for each org, in batches of one short transaction each, and goes on later where its time did not suffice. The
// queue's worker calls it, and `reconciler retain`.
package retain
