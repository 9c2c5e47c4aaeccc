// Package runners owns the records of runners and what proves who they are: registration tokens,
// runner keys, and the public halves of install keys. It also reads what a runner's own file allows,
// as the runner reports it. It knows nothing of jobs; the package jobs calls it to check a caller
// and to replace a machine. The APIs call it for everything else.
package runners
