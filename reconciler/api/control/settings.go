package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// This file implements the settings of an install besides its inputs: approval, owner, labels,
// account, toggles and overrides.

// Limits of an install's labels.
const (
	maxLabels     = 64
	maxLabelBytes = 256 // of one value
)

var labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_./-]{0,61}[A-Za-z0-9])?$`)

// accountKeys are the kinds of account and the fields of each.
var accountKeys = map[string][]string{
	"aws_account": {"account_id", "region"}, "azure_account": {"location", "subscription_id", "tenant_id"},
	"gcp_account": {"project_id", "region"},
}

// accountIDs are the keys that name an account. They decide whose machine registers as the runner of
// an install; the other keys of accountKeys are places in the account.
var accountIDs = []string{"account_id", "project_id", "subscription_id", "tenant_id"}

// settings are the settings of an install, current or proposed.
type settings struct {
	labels    map[string]string
	account   map[string]map[string]string
	toggles   map[string]bool
	overrides map[string]appconfig.Override
}

// settingsOf decodes an install's settings.
func settingsOf(i store.Install) (s settings, err error) {
	for _, part := range []struct {
		raw  json.RawMessage
		into any
	}{{i.Labels, &s.labels}, {i.Account, &s.account}, {i.Toggles, &s.toggles}, {i.Overrides, &s.overrides}} {
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return s, fmt.Errorf("read the settings of install %s: %w", i.Name, err)
		}
	}
	return s, nil
}

// put writes settings into an install's row. Maps of texts and flags always encode.
func (s settings) put(i *store.Install) {
	i.Labels, _ = json.Marshal(s.labels)
	i.Account, _ = json.Marshal(s.account)
	i.Toggles, _ = json.Marshal(s.toggles)
	i.Overrides, _ = json.Marshal(s.overrides)
}

// changed returns an install's row after a change, without its inputs. It writes nothing.
func changed(row store.Install, config *appconfig.App, c api.InstallChange) (store.Install, error) {
	if err := mayChange(row, c); err != nil {
		return row, err
	}
	if err := knownRule(string(c.Approval)); err != nil {
		return row, err
	}
	row.Approval, row.ManagedBy = orElse(string(c.Approval), row.Approval), orElse(string(c.ManagedBy), row.ManagedBy)
	if c.AllowDestroy != nil {
		row.AllowDestroy = *c.AllowDestroy
	}
	if c.ApprovalsByOthers != nil {
		row.ApprovalsByOthers = *c.ApprovalsByOthers
	}
	s, err := settingsOf(row)
	if err != nil {
		return row, err
	}
	if err := s.label(c.Labels); err != nil {
		return row, err
	}
	if err := s.toggle(config, c.Toggles); err != nil {
		return row, err
	}
	if err := s.override(config, c.Overrides); err != nil {
		return row, err
	}
	if err := s.place(row.Name, c.Account); err != nil {
		return row, err
	}
	s.put(&row)
	return row, nil
}

// mayLoosen refuses looser approval settings to a person who may not approve. It does not refuse
// those of an install file, which wait for an approver.
func mayLoosen(c caller, install string, now, to workflow.Settings, by string) error {
	if !now.Loosens(to) || c.role >= approver || by == string(api.InstallManagedByConfig) {
		return nil
	}
	return problem.Error{
		Status: http.StatusForbidden, Code: "forbidden",
		Title: fmt.Sprintf("token %s has the role %s; to loosen the approval settings of install %s (%s to %s) needs %s",
			quoted(c.actor), c.role, install, now.Summary(), to.Summary(), approver),
		Detail: "Ask an approver to make the change, or write it in the install's file in installs/: there it waits for an " +
			"approver.",
	}
}

// mayNameAccount refuses to name the account of an existing install to a person who may not confirm
// one, and to everyone if another account was confirmed. A machine of the named account registers
// without a confirmation, and the install's secrets are sealed to its key.
func mayNameAccount(c caller, row, as store.Install, by string) error {
	before, err := settingsOf(row)
	if err != nil {
		return err
	}
	after, err := settingsOf(as)
	if err != nil {
		return err
	}
	if named := newAccountIDs(before.account, after.account); len(named) > 0 && c.role < needs["ConfirmRunner"] {
		remedy := "Ask an admin to make the change with `nuon installs update`"
		if by == string(api.InstallManagedByConfig) {
			remedy = "Ask an admin to run `nuon installs sync`"
		}
		return problem.Error{
			Status: http.StatusForbidden, Code: "forbidden",
			Title: fmt.Sprintf("token %s has the role %s; to name the cloud account of install %s (%s) needs %s",
				quoted(c.actor), c.role, row.Name, strings.Join(named, ", "), needs["ConfirmRunner"]),
			Detail: remedy + ": a machine of that account registers as the install's runner without a confirmation.",
		}
	}
	if reflect.DeepEqual(before.account, after.account) {
		return nil
	}
	return cloudclaim.CheckNamed(as)
}

// newAccountIDs returns the keys in after that name an account and have other values in before.
func newAccountIDs(before, after map[string]map[string]string) []string {
	var named []string
	for kind, values := range after {
		for _, key := range accountIDs {
			if values[key] != before[kind][key] {
				named = append(named, key)
			}
		}
	}
	return named
}

// mayChange refuses a change by people to an install that install files manage, and the reverse,
// unless the change transfers the install.
func mayChange(row store.Install, c api.InstallChange) error {
	if err := validManagedBy(string(c.By)); err != nil {
		return err
	}
	if err := validManagedBy(string(c.ManagedBy)); err != nil {
		return err
	}
	by := orElse(string(c.By), string(api.InstallManagedByManual))
	if row.ManagedBy == by || string(c.ManagedBy) == by {
		return nil
	}
	manager := "is managed manually"
	remedy := "Let its file manage it with `nuon installs sync --take-ownership`, or remove the file from installs/."
	if row.ManagedBy == string(api.InstallManagedByConfig) {
		manager = "is managed by its file in installs/"
		remedy = "Change the file and run `nuon installs sync`, or manage the install manually with `nuon installs " +
			"managed-by " + row.ID + " manual`."
	}
	return problem.New(http.StatusConflict, "managed_elsewhere", "install "+row.Name+" "+manager, remedy)
}

// validManagedBy refuses an unknown value of managed_by; an empty one means that none was set.
func validManagedBy(value string) error {
	return oneOf(value == "" || api.InstallManagedBy(value).Valid(), "bad_managed_by", "managed_by of an install",
		value, string(api.InstallManagedByManual), string(api.InstallManagedByConfig))
}

// label sets labels; an empty value removes one.
func (s *settings) label(given map[string]string) error {
	s.labels = maps.Clone(s.labels)
	if s.labels == nil {
		s.labels = map[string]string{}
	}
	for name, value := range given {
		switch {
		case !labelName.MatchString(name):
			return problem.New(http.StatusUnprocessableEntity, "bad_label", "a label cannot be named "+quoted(name),
				"Use letters, digits, _, ., / and -, at most 63, a letter or digit at both ends.")
		case len(value) > maxLabelBytes || strings.ContainsFunc(value, unicode.IsControl):
			return problem.New(http.StatusUnprocessableEntity, "bad_label",
				"the value of label "+quoted(name)+" is too long, or has a control character",
				fmt.Sprintf("Use one line of at most %d bytes.", maxLabelBytes))
		case value == "":
			delete(s.labels, name)
		default:
			s.labels[name] = value
		}
	}
	if len(s.labels) > maxLabels {
		return problem.New(http.StatusUnprocessableEntity, "bad_label",
			fmt.Sprintf("the install would have more than %d labels", maxLabels), "Remove some.")
	}
	return nil
}

// toggle switches components on and off, if the app allows it for them.
func (s *settings) toggle(config *appconfig.App, given map[string]bool) error {
	s.toggles = maps.Clone(s.toggles)
	if s.toggles == nil {
		s.toggles = map[string]bool{}
	}
	var can []string
	for _, c := range config.Components {
		if c.Toggleable {
			can = append(can, c.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(can, name) {
			remedy := "No component of the app can; write toggleable = true in the file of one."
			if len(can) > 0 {
				remedy = "Those that can: " + strings.Join(can, ", ") + "."
			}
			return problem.New(http.StatusUnprocessableEntity, "bad_toggle",
				quoted(name)+" is no component that can be enabled or disabled", remedy)
		}
		s.toggles[name] = given[name]
	}
	return nil
}

// maxOverrides bounds the components that an install overrides values of.
const maxOverrides = 200

// override sets the values of components that differ for the install; an empty override removes those of a component.
func (s *settings) override(config *appconfig.App, given map[string]api.ComponentOverride) error {
	s.overrides = maps.Clone(s.overrides)
	if s.overrides == nil {
		s.overrides = map[string]appconfig.Override{}
	}
	set := map[string]appconfig.Override{}
	for name, o := range given {
		if over := appconfig.Override(o); over == (appconfig.Override{}) {
			delete(s.overrides, name)
		} else {
			set[name], s.overrides[name] = over, over
		}
	}
	if len(s.overrides) > maxOverrides {
		return problem.New(http.StatusUnprocessableEntity, "bad_override",
			fmt.Sprintf("the install would override values of more than %d components", maxOverrides), "Remove some.")
	}
	err := config.CheckOverrides(set)
	if err == nil && len(set) > 0 {
		err = config.CheckOverrideCycles(s.overrides)
	}
	if err != nil {
		return problem.New(http.StatusUnprocessableEntity, "bad_override", err.Error(),
			"Below [components.NAME], an install file can override helm_values of a helm_chart and tf_vars of a "+
				"terraform_module.")
	}
	return nil
}

func viewOverrides(all map[string]appconfig.Override) map[string]api.ComponentOverride {
	out := make(map[string]api.ComponentOverride, len(all))
	for name, o := range all {
		out[name] = api.ComponentOverride(o)
	}
	return out
}

// recordChange records who changed the toggles, the overrides or the cloud account of an install. It removes the
// rejections of the components that are switched now, because the person requests them again.
func recordChange(ctx context.Context, tx *store.Tx, before, after store.Install) error {
	was, err := settingsOf(before)
	if err != nil {
		return err
	}
	is, err := settingsOf(after)
	if err != nil {
		return err
	}
	var switched []string
	for name, on := range is.toggles {
		if old, said := was.toggles[name]; !said || old != on {
			switched = append(switched, name)
		}
	}
	actor := callerOf(ctx).actor
	if !maps.Equal(was.overrides, is.overrides) {
		if err := rollout.RecordInstallChange(ctx, tx, before.ID, actor, "the overrides"); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(was.account, is.account) { // templates read it, also its region
		if err := rollout.RecordInstallChange(ctx, tx, before.ID, actor, "the cloud account"); err != nil {
			return err
		}
	}
	if len(switched) == 0 { // an empty list would mean all of them
		return nil
	}
	if err := rollout.RecordInstallChange(ctx, tx, before.ID, actor, "the toggles"); err != nil {
		return err
	}
	return tx.DeleteRejections(ctx, tx.Org, before.ID, switched)
}

// place sets the cloud account of an install. What is set never changes, because the account contains
// everything of the install; what is missing can be added.
func (s *settings) place(install string, given map[string]map[string]string) error {
	if s.account == nil {
		s.account = map[string]map[string]string{}
	}
	if len(given) == 0 {
		return nil
	}
	if err := checkAccount(given); err != nil {
		return err
	}
	for kind, values := range given {
		current, known := s.account[kind]
		for key, value := range values {
			if len(s.account) > 0 && !known || current[key] != "" && current[key] != value {
				return problem.New(http.StatusConflict, "fixed",
					"install "+install+" is for another account, which cannot be changed",
					"Create another install for the other account and deprovision this one.")
			}
		}
		merged := maps.Clone(values)
		for key, value := range current {
			merged[key] = value
		}
		s.account = map[string]map[string]string{kind: merged}
	}
	return nil
}

func checkAccount(given map[string]map[string]string) error {
	bad := func(title string) error {
		return problem.New(http.StatusUnprocessableEntity, "bad_account", title,
			"Give one of: aws_account with account_id and region; azure_account with location, subscription_id and "+
				"tenant_id; gcp_account with project_id and region.")
	}
	if len(given) > 1 {
		return bad("an install is for one account")
	}
	for kind, values := range given {
		keys, known := accountKeys[kind]
		if !known {
			return bad("there is no account of kind " + quoted(kind))
		}
		for key, value := range values {
			if !slices.Contains(keys, key) {
				return bad("an " + kind + " has no " + quoted(key))
			}
			if len(value) > maxLabelBytes || strings.ContainsFunc(value, unicode.IsControl) {
				return bad("the " + key + " of the account is too long, or has a control character")
			}
			if wrong := appconfig.AccountIDProblem(key, value); wrong != "" {
				return bad("the " + wrong)
			}
		}
	}
	return nil
}

// declared returns the config against which an install's inputs and toggles are checked: that of
// its release, with the inputs of the app's newest config as optional ones, so that they can be set
// before the install gets there.
func declared(ctx context.Context, tx *store.Tx, install store.Install) (*appconfig.App, error) {
	config, err := rollout.ReleaseConfig(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	app, err := tx.AppByID(ctx, tx.Org, install.AppID)
	if err != nil {
		return nil, err
	}
	current, err := currentConfig(ctx, tx, app)
	if err != nil {
		return nil, err
	}
	both := *config
	both.Inputs = slices.Clone(config.Inputs)
	for _, in := range current.Inputs {
		if _, has := config.Input(in.Name); !has {
			in.Required = false
			both.Inputs = append(both.Inputs, in)
		}
	}
	return &both, nil
}
