package rollout

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// InstallChange is a hypothetical change of an install.
type InstallChange struct {
	Install store.Install        // as it would be, except for its inputs
	Inputs  []store.InstallInput // inputs that would be stored, replacing or in addition to the current ones
	// StackOutputs are the outputs of the stack that the install would have; nil for the current ones.
	StackOutputs map[string]json.RawMessage
}

// ComponentEffect is the effect of a change on one component, with the reason.
type ComponentEffect struct{ Component, Effect, Reason string }

// The effects of a change on a component, as in the API.
const (
	EffectNone    = "none"    // the change itself has no effect on it
	EffectBehind  = "behind"  // it would be planned and deployed
	EffectWaiting = "waiting" // it comes after something that changes; whether it changes too is known only then
	EffectRemoved = "removed" // its destroy would be planned
)

// Preview returns the effects of a change: it compares the desired state of the
// install as it is and as it would be. It writes nothing. The sandbox comes first,
// then the components by name. Errors: those of CheckToggles.
func Preview(ctx context.Context, tx *store.Tx, install store.Install, c InstallChange) ([]ComponentEffect, error) {
	if err := CheckToggles(ctx, tx, install, c.Install); err != nil {
		return nil, err
	}
	both, err := loadReadOnly(ctx, tx, []store.Install{install, c.Install})
	if err != nil {
		return nil, err
	}
	was, will := both[0], both[1]
	for _, in := range c.Inputs {
		will.inputs[in.Name] = in
	}
	if c.StackOutputs != nil {
		will.stack = c.StackOutputs
	}
	return effects(was, will), nil
}

// PreviewVariables returns the effect of other variables of an app, by name, on each of its installs, by name. It
// writes nothing.
func PreviewVariables(ctx context.Context, tx *store.Tx, app store.App,
	variables map[string]store.AppVariable) ([]InstallEffect, error) {
	return effectsOnApp(ctx, tx, app, func(ctx context.Context, tx *store.Tx,
		installs []store.Install) ([]InstallEffect, error) {
		was, err := loadReadOnly(ctx, tx, installs)
		if err != nil {
			return nil, err
		}
		will, err := loadReadOnly(ctx, tx, installs)
		if err != nil {
			return nil, err
		}
		all := make([]InstallEffect, 0, len(installs))
		for i := range installs {
			will[i].variables = variables
			effect := InstallEffect{Install: installs[i].Name, Components: []string{}, Reason: nothingChanges}
			all = append(all, effect.compare(was[i], will[i]))
		}
		return all, nil
	})
}

func effects(was, will *snapshot) []ComponentEffect {
	before, after := was.desiredStates(), will.desiredStates()
	all := []ComponentEffect{}
	for _, name := range will.sandboxFirst() {
		effect, reason := effectOn(before[name], after[name])
		all = append(all, ComponentEffect{name, effect, reason})
	}
	return all
}

// effectOn compares the desired state of a component before and after a change. Before is nil if the
// component was not part of the install.
func effectOn(before, after *desiredState) (effect, reason string) {
	moved := before == nil || before.Digest != after.Digest || before.WaitReason != after.WaitReason ||
		before.Absent != after.Absent
	switch {
	case after.Current && !after.Absent:
		return EffectNone, "it is already up to date"
	case after.Current:
		return EffectNone, after.Reason
	case !moved && after.WaitReason != "":
		return EffectNone, "not because of this: it already waits: " + after.WaitReason
	case !moved:
		return EffectNone, "not because of this: it is already behind: " + before.changeText
	case after.Absent && after.WaitReason != "":
		return EffectRemoved, after.changeText + "; it waits: " + after.WaitReason
	case after.Absent:
		return EffectRemoved, after.changeText
	case after.WaitReason != "" && after.behind:
		return EffectBehind, after.changeText + "; it comes after " + strings.Join(after.blockers, ", ")
	case after.WaitReason != "":
		return EffectWaiting, "it waits: " + after.WaitReason
	case after.RejectionReason != "":
		return EffectBehind, after.changeText + "; it is " + after.RejectionReason
	}
	return EffectBehind, after.changeText
}
