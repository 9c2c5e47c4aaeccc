package apps

import (
	"context"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
)

// drifting are attributes that the modules of installs set, in the order of preference: those of stand-ins, then those
// of sandboxes, whose repair takes longer.
var drifting = []struct {
	typ, attribute string
	value          any
}{
	{"aws_ssm_parameter", "value", "changed by hand"},
	{"google_storage_bucket", "labels", map[string]string{"owner": "somebody"}},
	{"azurerm_user_assigned_identity", "tags", map[string]string{"owner": "somebody"}},
	{"aws_kms_key", "description", "changed by hand"},
	{"google_artifact_registry_repository", "description", "changed by hand"},
	{"azurerm_container_registry", "admin_enabled", true},
}

// drift changes an object behind Terraform's back, checks that the plan of one component shows it, and repairs it with
// a deploy of that component.
func (n *installation) drift(ctx context.Context) error {
	objects, err := n.cloud.Objects(ctx)
	if err != nil {
		return err
	}
	for _, d := range drifting {
		i := slices.IndexFunc(objects, func(o cloud.Object) bool { return o.Type == d.typ })
		if i < 0 {
			continue
		}
		if err := n.cloud.Drift(ctx, d.typ, objects[i].ID, d.attribute, d.value); err != nil {
			return err
		}
		if err := n.repair(ctx); err != nil {
			return fmt.Errorf("%s of %s %s was changed: %w", d.attribute, d.typ, objects[i].ID, err)
		}
		return nil
	}
	return fmt.Errorf("the cloud has no object of a type that can be changed: %d objects", len(objects))
}

// repair deploys the one component whose plan is not empty, and checks that all plans are empty after that.
func (n *installation) repair(ctx context.Context) error {
	changed, err := n.plan(ctx)
	if err != nil {
		return err
	}
	if len(changed) != 1 {
		return fmt.Errorf("%d plans show it: %s", len(changed), describe(changed))
	}
	if _, err := n.fleet.Nuon(ctx, "deploy", n.name, changed[0].Component, "--redeploy"); err != nil {
		return err
	}
	if err := n.until(ctx, "current"); err != nil {
		return err
	}
	return n.planAgain(ctx)
}
