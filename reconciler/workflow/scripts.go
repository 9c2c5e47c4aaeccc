package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file is the engine's part of script approval: it reads what actions would run
// and the answers of approvers, and requests approvals.

// ScriptOf returns what an action runs, before its templates are rendered and without what
// does not run: commands and texts of its steps as written, their environment templates,
// sources with the digests of their artifacts (artifactOf, by name of the source), declared inputs
// with their defaults, image, roles and access to the cluster, of which access is what the action does not name.
func ScriptOf(action appconfig.Action, access *appconfig.ActionAccess,
	artifactOf func(source string) string) (ScriptContent, error) {
	runs := appconfig.Action{
		Name: action.Name, Role: action.Role, BreakGlassRole: action.BreakGlassRole,
		KubeConfig:        action.KubeConfig,
		KubernetesContext: action.KubernetesContext, Image: action.Image, Access: access,
	}
	for _, step := range action.Steps {
		if step.Source != nil {
			step.Code = &appconfig.StepCode{Artifact: artifactOf(step.Source.ActionSourceName())}
		}
		runs.Steps = append(runs.Steps, step)
	}
	for _, input := range action.Inputs {
		input.Description = ""
		runs.Inputs = append(runs.Inputs, input)
	}
	content, err := encode(runs)
	if err != nil {
		return ScriptContent{}, err
	}
	return ScriptContent{Action: action.Name, Digest: sha256digest.Of(fmt.Appendf(nil, "nuon script 1\n%s\n", content)),
		Content: content}, nil
}

// loadScripts reads what the actions that have not ended would run now, and the
// answers of approvers.
func (x *executor) loadScripts(ctx context.Context) error {
	var actions []*Step
	for _, s := range x.graph.Steps {
		if s.Kind == StepAction && !s.Status.Ended() {
			actions = append(actions, s)
		}
	}
	if len(actions) == 0 {
		return nil
	}
	world, err := x.resolve(ctx)
	if err != nil {
		return err
	}
	now, err := world.Scripts(x.params.Role)
	if err != nil {
		return fmt.Errorf("read the scripts of install %s: %w", x.install.Name, err)
	}
	rows, err := x.tx.ScriptAnswers(ctx, x.tx.Org, x.install.ID)
	if err != nil {
		return err
	}
	answers := map[string]store.ScriptAnswersRow{}
	for _, r := range rows {
		answers[r.Digest] = r
	}
	x.scripts = map[string]ScriptContent{}
	for _, s := range actions {
		content, has := now[s.Action]
		if !has {
			continue
		}
		x.scripts[content.Digest] = content
		s.Script = &Script{Digest: content.Digest}
		switch answer, answered := answers[content.Digest]; {
		case answered && answer.Answer == string(Approve):
			s.Script.Approved = true
		case answered && !x.requestedAfter(answer):
			s.Script.RejectedBy, s.Script.RejectionReason = answer.Actor, "its script was rejected by "+answer.Actor
			if answer.Reason != "" {
				s.Script.RejectionReason += ": " + answer.Reason
			}
		}
	}
	question, err := x.tx.WaitingScripts(ctx, x.tx.Org, x.row.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	asked, err := decodeScripts(question.Subject)
	if err != nil {
		return fmt.Errorf("approval %s: %w", question.ID, err)
	}
	x.graph.ScriptRequest = &ScriptRequest{ID: question.ID}
	for _, script := range asked {
		x.graph.ScriptRequest.Digests = append(x.graph.ScriptRequest.Digests, script.Digest)
	}
	return nil
}

// requestedAfter reports whether a person requested the workflow after a script was
// rejected, so that the script is put to an approver once more.
func (x *executor) requestedAfter(no store.ScriptAnswersRow) bool {
	return x.row.RequestedBy != systemActor && no.At.Before(x.row.CreatedAt)
}

func decodeScripts(subject json.RawMessage) ([]ScriptContent, error) {
	var all []ScriptContent
	if len(subject) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(subject, &all); err != nil {
		return nil, fmt.Errorf("decode its scripts: %w", err)
	}
	return all, nil
}

// preparedScripts is the content of an approval request for scripts.
type preparedScripts struct {
	subject            json.RawMessage // the scripts
	report             json.RawMessage // the difference from the scripts that were approved last
	contentDigest      string          // digest of both
	groupDigest        string          // group key shared with equal scripts of other installs
	individualApproval bool            // a finding requires an individual approval
}

// prepareScripts prepares scripts for an approval request. Without digests it returns the zero value.
func (x *executor) prepareScripts(ctx context.Context, digests []string) (preparedScripts, error) {
	if len(digests) == 0 {
		return preparedScripts{}, nil
	}
	rows, err := x.tx.ApprovedScripts(ctx, x.tx.Org, x.install.ID)
	if err != nil {
		return preparedScripts{}, err
	}
	last := map[string]json.RawMessage{}
	for _, r := range rows {
		last[r.Action] = r.Content
	}
	var was, is []appconfig.Action
	var all []ScriptContent
	for _, digest := range digests {
		script, err := x.withFiles(ctx, x.scripts[digest])
		if err != nil {
			return preparedScripts{}, err
		}
		for _, side := range []struct {
			raw  json.RawMessage
			into *[]appconfig.Action
		}{{last[script.Action], &was}, {script.Content, &is}} {
			if side.raw == nil {
				continue
			}
			var action appconfig.Action
			if err := json.Unmarshal(side.raw, &action); err != nil {
				return preparedScripts{}, fmt.Errorf("decode the script of action %s: %w", script.Action, err)
			}
			*side.into = append(*side.into, action)
		}
		all = append(all, script)
	}
	report, err := app.Scripts(was, is)
	if err != nil {
		return preparedScripts{}, fmt.Errorf("show the scripts of install %s: %w", x.install.Name, err)
	}
	var shown preparedScripts
	if shown.subject, err = encode(all); err != nil {
		return preparedScripts{}, err
	}
	if shown.report, err = encode(report); err != nil {
		return preparedScripts{}, err
	}
	shown.contentDigest = sha256digest.Of(fmt.Appendf(nil, "nuon scripts 1\n%s\n%s\n%s\n", x.install.ID,
		strings.Join(digests, " "), report.Digest()))
	if shown.individualApproval = report.NeedsIndividualApproval(); shown.individualApproval {
		return shown, nil
	}
	shown.groupDigest = sha256digest.Of(fmt.Appendf(nil, "nuon scripts group 1\n%s\n%s\n%s\n", x.install.AppID,
		strings.Join(digests, " "),
		report.Digest()))
	return shown, nil
}

// withFiles returns a script with the texts of the code that it runs from repositories, each once.
func (x *executor) withFiles(ctx context.Context, script ScriptContent) (ScriptContent, error) {
	var action appconfig.Action
	if err := json.Unmarshal(script.Content, &action); err != nil {
		return script, fmt.Errorf("decode the script of action %s: %w", script.Action, err)
	}
	shown := map[string]bool{}
	for _, step := range action.Steps {
		if step.Source == nil || shown[step.Code.Artifact] {
			continue
		}
		shown[step.Code.Artifact] = true
		world, err := x.resolve(ctx)
		if err != nil {
			return script, err
		}
		if step.Code.Files, err = world.SourceFiles(ctx, x.tx, step.Source.ActionSourceName()); err != nil {
			return script, fmt.Errorf("read the code of action %s: %w", script.Action, err)
		}
	}
	if len(shown) == 0 {
		return script, nil
	}
	var err error
	script.Content, err = encode(action)
	return script, err
}

// requestScriptApproval requests approval of scripts, and replaces a request that already waits.
func (x *executor) requestScriptApproval(ctx context.Context, c RequestScriptApproval) error {
	if x.graph.ScriptRequest != nil {
		if err := x.withdrawScriptRequest(ctx, "withdrawn: the scripts changed"); err != nil {
			return err
		}
	}
	shown, err := x.prepareScripts(ctx, c.Digests)
	if err != nil {
		return err
	}
	question := id.New("apr")
	err = x.tx.AddApproval(ctx, store.AddApprovalParams{
		OrgID: x.tx.Org, ID: question, Kind: ApprovalOfScripts, StepID: &c.Step, WorkflowID: &x.row.ID,
		InstallID: x.install.ID, ContentDigest: shown.contentDigest,
		Status: string(ApprovalWaiting), Reason: c.Reason, Because: x.row.Reason, Author: x.row.RequestedBy,
		GroupDigest: shown.groupDigest, Subject: shown.subject, Report: shown.report,
		IndividualApproval: shown.individualApproval,
	})
	if err != nil {
		return fmt.Errorf("ask about scripts: %w", err)
	}
	if err := x.setStepStatus(ctx, c.Step, StepWaiting, c.Reason); err != nil {
		return err
	}
	x.graph.Apply(c)
	x.graph.ScriptRequest.ID = question
	return nil
}

func (x *executor) withdrawScriptRequest(ctx context.Context, reason string) error {
	return expectOneRow(x.tx.EndApproval(ctx, store.EndApprovalParams{OrgID: x.tx.Org, ID: x.graph.ScriptRequest.ID,
		Status: string(ApprovalWithdrawn), Reason: reason}))
}

// recordScriptAnswers records an approver's answer about the scripts of an approval.
// Rejecting a plan does not answer for the scripts shown with it.
func (r Response) recordScriptAnswers(ctx context.Context, tx *store.Tx, row store.LockApprovalRow) error {
	a := row.Approval
	if a.Kind == ApprovalOfPlan && r.Answer != Approve {
		return nil
	}
	scripts, err := decodeScripts(a.Subject)
	if err != nil {
		return fmt.Errorf("approval %s: %w", a.ID, err)
	}
	for _, script := range scripts {
		err := tx.PutScriptAnswer(ctx, store.PutScriptAnswerParams{
			OrgID: tx.Org, InstallID: a.InstallID, Digest: script.Digest, Action: script.Action, Answer: string(r.Answer),
			Content: script.Content,
			Reason:  r.Reason, Actor: r.Actor, ApprovalID: a.ID,
		})
		if err != nil {
			return fmt.Errorf("record the answer about the script of action %s: %w", script.Action, err)
		}
		detail := map[string]any{"install": a.InstallID, "action": script.Action, "approval": a.ID}
		if err := tx.Audit(ctx, r.Actor, "script."+string(r.Answer), script.Digest, detail); err != nil {
			return err
		}
	}
	return nil
}
