package runners

import "github.com/nuon-toolkit/nuon/reconciler/refusal"

// The refusals of this package. refusal.ErrInvalid is another.
var (
	// ErrUnknownToken: the token was never issued, or was replaced.
	ErrUnknownToken = refusal.New(refusal.Unauthenticated, "unknown_token", "the token is not known",
		"If the runner was replaced, register its new machine with the token that was made then; "+
			"an attempt uses the newest token that it received.")
	// ErrKeyIsNew: the runner's key was changed a short time ago.
	ErrKeyIsNew = refusal.New(refusal.TooOften, "key_is_new", "the runner key was changed less than an hour ago",
		"Use the current key, which stays valid, and ask for another one later.")
	// ErrRegistration: the registration token is unknown, used or too old. The refusal does not
	// reveal which.
	ErrRegistration = refusal.New(refusal.Unauthenticated, "registration_refused",
		"the registration token is unknown, was used already, or is older than an hour",
		"Create another with `nuon runners register`, and use it on one machine, within an hour.")
	// ErrProof: a machine has not proven that it holds the private half of its install key.
	ErrProof = refusal.New(refusal.Invalid, "proof_refused",
		"this machine has not proven that it holds its install key: the proof is missing, wrong or was used before",
		"Ask for a new challenge; a runner does when it tries again.")
	// ErrRegistered: a machine has registered as this runner, which belongs to it until it is
	// replaced.
	ErrRegistered = refusal.New(refusal.Conflict, "registered", "a machine is already registered as this runner",
		"If that machine is permanently gone, `nuon runners replace` lets another machine register.")
	// ErrNotAlone: a machine may register by the identity of one customer's account, and the runner
	// works for others as well.
	ErrNotAlone = refusal.New(refusal.Conflict, "runner_not_alone",
		"only the runner of a single install can register by the cloud identity of its machine",
		"Create a runner for this install, or register with a token of `nuon runners register`.")
	// ErrBadRunner: there can be no runner with these properties.
	ErrBadRunner = refusal.New(refusal.Invalid, "bad_runner", "the runner cannot be created", "")
	// ErrNameTaken: another runner of the org has the name.
	ErrNameTaken = refusal.New(refusal.Conflict, "exists", "another runner has this name", "Choose another name.")
)
