package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file holds the approval settings of an install: who may loosen them, and who set them.

// Settings are the approval settings of an install.
type Settings struct {
	Approval     string `json:"approval"`            // prompt or approve-all
	AllowDestroy bool   `json:"allow_destroy"`       // with approve-all: also approves plans that delete or replace
	ByOthers     bool   `json:"approvals_by_others"` // nobody may approve their own request
}

// SettingsOf returns the settings in force on an install.
func SettingsOf(i store.Install) Settings {
	return Settings{Approval: i.Approval, AllowDestroy: i.AllowDestroy, ByOthers: i.ApprovalsByOthers}
}

// Strictest returns the settings of an install that sets none.
func Strictest() Settings { return Settings{Approval: appconfig.ApprovalPrompt} }

// Stricter returns the stricter value of each setting.
func (s Settings) Stricter(o Settings) Settings {
	strict := Settings{Approval: appconfig.ApprovalPrompt, AllowDestroy: s.AllowDestroy && o.AllowDestroy,
		ByOthers: s.ByOthers || o.ByOthers}
	if s.Approval == o.Approval {
		strict.Approval = s.Approval
	}
	return strict
}

// Loosens reports whether o approves anything that s does not.
func (s Settings) Loosens(o Settings) bool { return s.Stricter(o) != o }

// Digest identifies the settings on one install.
func (s Settings) Digest(install string) string {
	raw, _ := json.Marshal(s) //nolint:errchkjson // strings and flags
	return sha256digest.Of(fmt.Appendf(nil, "nuon approval rule 1\n%s\n%s\n", install, raw))
}

// ApprovalRuleOf returns the settings in force on an install, their digest, and who set them.
func ApprovalRuleOf(i store.Install) (api.ApprovalRule, error) {
	var r api.ApprovalRule
	if err := json.Unmarshal(i.Rule, &r); err != nil {
		return r, fmt.Errorf("decode the approval rule of install %s: %w", i.Name, err)
	}
	s := SettingsOf(i)
	r.Approval, r.AllowDestroy, r.ApprovalsByOthers = api.ApprovalRuleApproval(s.Approval), s.AllowDestroy, s.ByOthers
	r.Digest = s.Digest(i.ID)
	return r, nil
}

// NewRuleRecord returns the record of who sets the settings now, and who approved them.
func NewRuleRecord(by, approvedBy string) (json.RawMessage, error) {
	return encode(map[string]any{"by": by, "approved_by": approvedBy, "at": time.Now().UTC().Truncate(time.Second)})
}

// Author is the person who changes settings.
type Author struct {
	Name       string
	CanApprove bool // the author may approve requests of others
}

// mayLoosen reports whether the author may loosen settings without another approver.
func (a Author) mayLoosen(now Settings) bool { return a.CanApprove && !now.ByOthers }

// ChangeSettings sets the approval settings of a locked install. Stricter settings
// take effect at once, and so do looser ones whose author may approve them. Other
// looser settings wait for an approver; until then the stricter ones stay. It reports
// whether something waits. A pending request for other settings is withdrawn.
// Settings that an approver rejected are not requested again.
func ChangeSettings(ctx context.Context, tx *store.Tx, install store.Install, to Settings, by Author) (waits bool,
	err error) {
	now, at := SettingsOf(install), to
	if !by.mayLoosen(now) {
		at = now.Stricter(to)
	}
	if at != now {
		if err := setApprovalRule(ctx, tx, install, at, by.Name, ""); err != nil {
			return false, err
		}
		install.Approval, install.AllowDestroy, install.ApprovalsByOthers = at.Approval, at.AllowDestroy, at.ByOthers
	}
	newest, err := tx.NewestSettings(ctx, tx.Org, install.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, fmt.Errorf("settings of install %s: %w", install.Name, err)
	}
	found := err == nil
	asked := false
	if found {
		var was Settings
		if err := json.Unmarshal(newest.Subject, &was); err != nil {
			return false, fmt.Errorf("decode the requested settings of %s: %w", newest.ID, err)
		}
		asked = was == to
	}
	switch {
	case found && newest.Status == string(ApprovalWaiting) && asked && at != to && newest.Author == by.Name:
		return true, nil
	case found && newest.Status == string(ApprovalWaiting):
		reason := "withdrawn: " + by.Name + " requested other settings"
		if err := expectOneRow(tx.EndApproval(ctx, store.EndApprovalParams{OrgID: tx.Org, ID: newest.ID,
			Status: string(ApprovalWithdrawn), Reason: reason})); err != nil {
			return false, err
		}
	case found && newest.Status == string(ApprovalRejected) && asked && at != to:
		return false, nil
	}
	if at == to {
		return false, nil
	}
	return true, requestSettingsApproval(ctx, tx, install, to, by.Name)
}

func setApprovalRule(ctx context.Context, tx *store.Tx, install store.Install, to Settings, by,
	approvedBy string) error {
	rule, err := NewRuleRecord(by, approvedBy)
	if err != nil {
		return err
	}
	err = tx.SetRule(ctx, store.SetRuleParams{
		OrgID: tx.Org, ID: install.ID, Approval: to.Approval, AllowDestroy: to.AllowDestroy, ApprovalsByOthers: to.ByOthers,
		Rule: rule,
	})
	if err != nil {
		return fmt.Errorf("set the approval rule of install %s: %w", install.Name, err)
	}
	detail := map[string]any{"from": SettingsOf(install), "to": to, "digest": to.Digest(install.ID)}
	if approvedBy != "" {
		detail["approved_by"] = approvedBy
	}
	if err := tx.Audit(ctx, by, "install.rule", install.ID, detail); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// requestSettingsApproval requests approval of looser settings.
func requestSettingsApproval(ctx context.Context, tx *store.Tx, install store.Install, to Settings, by string) error {
	subject, err := encode(to)
	if err != nil {
		return err
	}
	report, group, err := settingsReport(install, to)
	if err != nil {
		return err
	}
	content := sha256digest.Of(fmt.Appendf(nil, "nuon settings 1\n%s\n%s\n%s\n%q\n",
		SettingsOf(install).Digest(install.ID), to.Digest(install.ID), group, by))
	approval := id.New("apr")
	err = tx.AddApproval(ctx, store.AddApprovalParams{
		OrgID: tx.Org, ID: approval, Kind: ApprovalOfSettings, InstallID: install.ID, ContentDigest: content,
		Status: string(ApprovalWaiting),
		Reason: "looser approval settings need an approver", Author: by, Subject: subject, Report: report, GroupDigest: group,
	})
	if err != nil {
		return fmt.Errorf("ask about the settings of install %s: %w", install.Name, err)
	}
	return tx.Audit(ctx, by, "install.ask_rule", install.ID,
		map[string]any{"approval": approval, "to": to, "digest": to.Digest(install.ID)})
}

// settingsReport returns the difference between the settings in force and others, and the group key
// shared by installs with the same difference.
func settingsReport(install store.Install, to Settings) (report json.RawMessage, group string, err error) {
	now := SettingsOf(install)
	as := func(s Settings) *appconfig.App {
		return &appconfig.App{Installs: []appconfig.Install{{Name: install.Name, ApprovalOption: s.Approval,
			AllowDestroy: s.AllowDestroy}}}
	}
	r, err := app.Report(as(now), as(to), app.Options{})
	if err != nil {
		return nil, "", fmt.Errorf("show the settings of install %s: %w", install.Name, err)
	}
	r.Notes = nil // they are about versions of the app
	if now.ByOthers && !to.ByOthers {
		r.Notes = append(r.Notes, "people may approve what they requested themselves (approvals_by_others becomes false)")
	}
	group = sha256digest.Of(fmt.Appendf(nil, "nuon settings group 1\n%s\n%s\n", install.AppID,
		r.ComparableForm().GroupDigest(install.Name, install.ID)))
	report, err = encode(r)
	return report, group, err
}

// applySettingsAnswer applies an approver's answer about looser settings of a locked install.
func (r Response) applySettingsAnswer(ctx context.Context, tx *store.Tx, install store.Install,
	row store.LockApprovalRow) error {
	if r.Answer != Approve {
		return nil
	}
	var to Settings
	if err := json.Unmarshal(row.Approval.Subject, &to); err != nil {
		return fmt.Errorf("decode the requested settings of %s: %w", row.Approval.ID, err)
	}
	return setApprovalRule(ctx, tx, install, to, row.Approval.Author, r.Actor)
}

// Summary returns a short description of the settings.
func (s Settings) Summary() string {
	words := []string{s.Approval}
	if s.AllowDestroy {
		words = append(words, "allow_destroy")
	}
	if s.ByOthers {
		words = append(words, "approvals by others")
	}
	return strings.Join(words, ", ")
}
