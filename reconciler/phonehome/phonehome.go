// Package phonehome takes the reports of install stacks: what a stack created, changed or deleted,
// from the function that runs in it or from the runner on its machine. It checks the form, whose
// report it is and the outputs, stores each request once, and records the outputs as package
// stackoutputs does. A report never changes who may register or report. The runner API calls it, and
// the control API when a person confirms an account.
package phonehome

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The refusals of this package.
var (
	// ErrBadReport: the report is not one of a stack.
	ErrBadReport = refusal.New(refusal.Invalid, "bad_phone_home", "the report of the stack is not valid",
		"Use the newest version of the install's stack.")
	// ErrReused: another report had this request id.
	ErrReused = refusal.New(refusal.Conflict, "request_reused", "another report had this request id", "")
	// ErrOtherStack: another stack reported for the install, and was not deleted.
	ErrOtherStack = refusal.New(refusal.Conflict, "other_stack", "the install has another stack already",
		"Delete the other stack first; if it is gone, the vendor says so with `nuon installs stack forget`.")
	// ErrTooOften: as many reports have changed the outputs of the install as may within an hour.
	ErrTooOften = refusal.New(refusal.TooOften, "too_many_reports",
		fmt.Sprintf("%d reports of the install's stack have counted within an hour", maxPerHour),
		"Send the newest report again later; nothing of this one was stored.")
	// ErrNoStack: no stack has reported that was not deleted since.
	ErrNoStack = refusal.New(refusal.Conflict, "no_stack",
		"no stack of the install has reported, or the last one was deleted", "")
	// ErrNotItsRunner: the runner reports for an install that is not its only one.
	ErrNotItsRunner = refusal.New(refusal.Forbidden, "not_its_runner",
		"only the runner of this install alone, registered by its cloud identity, reports what the stack has", "")
)

// The kinds of report. The column's constraint has the same values.
const (
	create   = "create"
	update   = "update"
	deletion = "delete"
)

// The statuses of a report. The column's constraint has the same values.
const (
	accepted = "accepted"
	waiting  = "waiting"
	refused  = "refused"
)

// actor is who the audit names for a report.
const actor = "install stack"

// maxKept bounds the reports of an install that are stored, of each sort.
const maxKept = 20

// maxPerHour bounds the accepted reports of an install within an hour: each makes a version of the outputs, an audit
// event and a reconcile. They are counted among those that are stored.
const maxPerHour = maxKept

// Configs returns the app configs that state which outputs the stack of an install has.
type Configs func(ctx context.Context, tx *store.Tx, install store.Install) ([]*appconfig.App, error)

// Service takes reports. It is safe for concurrent use.
type Service struct {
	store   *store.Store
	claims  *cloudclaim.Service
	configs Configs
}

// New returns the service.
func New(s *store.Store, claims *cloudclaim.Service, configs Configs) *Service {
	return &Service{s, claims, configs}
}

var (
	requestID = regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`)
	stackARN  = regexp.MustCompile(`^arn:aws(?:-cn|-us-gov)?:cloudformation:([a-z0-9-]{1,24}):([0-9]{12}):stack/` +
		`[A-Za-z][A-Za-z0-9-]{0,127}/[0-9a-f-]{36}$`)
	versionNumber = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)
)

// checkForm checks what needs no database.
func checkForm(r api.PhoneHomeReport) error {
	switch {
	case !requestID.MatchString(r.RequestID):
		return ErrBadReport.With("%.80q is no request id", r.RequestID)
	case r.Kind != create && r.Kind != update && r.Kind != deletion:
		return ErrBadReport.With("%.20q is no kind of report; it is create, update or delete", r.Kind)
	case !stackARN.MatchString(r.StackID):
		return ErrBadReport.With("%.200q is no id of a stack", r.StackID)
	case r.Kind != deletion && !versionNumber.MatchString(r.StackVersion):
		return ErrBadReport.With("%.40q is no version of a stack", r.StackVersion)
	case r.Kind == deletion && len(r.Outputs) > 0:
		return ErrBadReport.With("a stack that is deleted has no outputs")
	}
	return nil
}

// Report stores the report of a stack's function. Errors: those of package cloudclaim but ErrWaiting,
// ErrBadReport, ErrReused, ErrOtherStack, ErrTooOften, and the refusals of package stackoutputs.
func (s *Service) Report(ctx context.Context, claim string, r api.PhoneHomeReport) (api.PhoneHomeAnswer, error) {
	if err := checkForm(r); err != nil {
		return api.PhoneHomeAnswer{}, err
	}
	proven, err := s.claims.Check(ctx, claim, r.Nonce, r.Identity)
	if err != nil {
		return api.PhoneHomeAnswer{}, fmt.Errorf("phone home: %w", err)
	}
	var answer api.PhoneHomeAnswer
	var refusedBy error // committed, so that the vendor sees it
	err = s.store.InTx(ctx, proven.Org, func(ctx context.Context, tx *store.Tx) (err error) {
		answer, refusedBy, err = s.take(ctx, tx, proven, r)
		return err
	})
	if err == nil {
		err = refusedBy
	}
	if err != nil {
		return api.PhoneHomeAnswer{}, fmt.Errorf("phone home: %w", err)
	}
	return answer, nil
}

// take stores a report whose sender was proven. refusedBy is why a report of the right sender is refused.
func (s *Service) take(ctx context.Context, tx *store.Tx, proven cloudclaim.Proven, r api.PhoneHomeReport) (
	answer api.PhoneHomeAnswer, refusedBy, err error) {
	install, err := tx.LockInstall(ctx, tx.Org, proven.Install)
	if err != nil {
		return answer, nil, store.NotFoundAs(err, cloudclaim.ErrClaim)
	}
	claim, err := s.claims.Admit(ctx, tx, install, proven, cloudclaim.PhoneHome, false)
	waits := errors.Is(err, cloudclaim.ErrWaiting)
	if err != nil && !waits {
		return answer, nil, err
	}
	waitsFor := err
	row := store.AddPhoneHomeParams{OrgID: tx.Org, InstallID: install.ID, RequestID: r.RequestID, Kind: r.Kind,
		Status: accepted, StackID: r.StackID, StackVersion: r.StackVersion, ClaimID: claim.ID, Kept: []string{}}
	if row.Subject, err = json.Marshal(cloudclaim.ViewSubject(proven.Subject)); err != nil {
		return answer, nil, fmt.Errorf("encode the sender of a report: %w", err)
	}
	if row.Outputs, err = json.Marshal(ofTexts(r.Outputs)); err != nil {
		return answer, nil, ErrBadReport.With("its outputs cannot be read")
	}
	if before, err := tx.PhoneHomeOf(ctx, tx.Org, install.ID, r.RequestID); err == nil {
		answer, refusedBy = repeated(before, row)
		return answer, refusedBy, nil
	} else if !errors.Is(err, store.ErrNotFound) {
		return answer, nil, err
	}
	account := stackARN.FindStringSubmatch(r.StackID)[2]
	if account != proven.Subject.Account {
		refusedBy = ErrBadReport.With("the stack is in the account %s, and its function in %s", account,
			proven.Subject.Account)
	} else if refusedBy, err = s.check(ctx, tx, install, row); err != nil {
		return answer, nil, err
	}
	answer.Status = api.PhoneHomeAccepted
	switch {
	case refusedBy != nil:
		// What was refused may be nothing that the database can hold.
		row.Status, row.Reason, row.Outputs = refused, title(refusedBy), json.RawMessage("null")
	case waits:
		row.Status, row.Reason = waiting, title(waitsFor)
		answer = api.PhoneHomeAnswer{Status: api.PhoneHomeWaiting, Message: row.Reason}
	default:
		if err := checkRate(ctx, tx, row); err != nil {
			return answer, nil, err
		}
		if row.Kept, err = s.apply(ctx, tx, install, row); err != nil {
			return answer, nil, err
		}
		if answer.Kept = row.Kept; len(row.Kept) > 0 {
			answer.Message = "these outputs keep the values that the vendor set: " + strings.Join(row.Kept, ", ")
		}
		if err := s.claims.Use(ctx, tx, claim); err != nil {
			return answer, nil, err
		}
	}
	return answer, refusedBy, s.add(ctx, tx, row)
}

// ofTexts returns outputs as they are stored: CloudFormation has texts only, in which commas separate
// the elements of a list, and reports what does not exist as an empty text.
func ofTexts(outputs map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, raw := range outputs {
		var text string
		isText := json.Unmarshal(raw, &text) == nil && bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`))
		switch kind := appconfig.StackOutputType(name); {
		case isText && kind == appconfig.PathList:
			elements := []string{}
			if text != "" {
				elements = strings.Split(text, ",")
			}
			all[name], _ = json.Marshal(elements) // a list of texts
		case isText && text == "":
		default:
			all[name] = raw
		}
	}
	return all
}

// repeated answers a request that was answered before.
func repeated(before store.PhoneHome, row store.AddPhoneHomeParams) (api.PhoneHomeAnswer, error) {
	same := before.Kind == row.Kind && before.StackID == row.StackID && before.StackVersion == row.StackVersion &&
		sameJSON(before.Subject, row.Subject)
	switch {
	case !same || before.Status != refused && !sameJSON(before.Outputs, row.Outputs):
		return api.PhoneHomeAnswer{}, ErrReused
	case before.Status == refused:
		return api.PhoneHomeAnswer{}, ErrBadReport.With("%s", before.Reason)
	}
	return api.PhoneHomeAnswer{Status: api.PhoneHomeAnswerStatus(before.Status), Message: before.Reason,
		Kept: before.Kept}, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	first, _ := json.Marshal(x) // was decoded from JSON
	second, _ := json.Marshal(y)
	return string(first) == string(second)
}

// check returns why a report of the right sender cannot count, as refusedBy.
func (s *Service) check(ctx context.Context, tx *store.Tx, install store.Install, row store.AddPhoneHomeParams) (
	refusedBy, err error) {
	last, err := tx.LastAcceptedPhoneHome(ctx, tx.Org, install.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err == nil && last.Kind != deletion && last.StackID != "" && last.StackID != row.StackID {
		return ErrOtherStack.With("%s", last.StackID), nil
	}
	if row.Kind == deletion {
		return nil, nil
	}
	change, err := changeOf(row)
	if err != nil {
		return ErrBadReport.With("its outputs cannot be read"), nil
	}
	configs, err := s.configs(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	if _, refusedBy = stackoutputs.Check(change, nil, configs...); refusedBy != nil {
		return refusedBy, nil
	}
	_, current, err := stackoutputs.Current(ctx, tx, install.ID)
	if err != nil {
		return nil, err
	}
	_, refusedBy = stackoutputs.Merge(current, change)
	return refusedBy, nil
}

// checkRate returns ErrTooOften for a report above maxPerHour. The deletion of a stack counts in any case.
func checkRate(ctx context.Context, tx *store.Tx, row store.AddPhoneHomeParams) error {
	recent, err := tx.RecentPhoneHomes(ctx, tx.Org, row.InstallID, time.Hour.Seconds())
	if err != nil {
		return fmt.Errorf("count the reports of an install's stack: %w", err)
	}
	if recent.Reports < maxPerHour || row.Kind == deletion && recent.LastKind != deletion {
		return nil
	}
	return ErrTooOften.RetryIn(recent.Oldest.Add(time.Hour).Sub(tx.Now()))
}

// changeOf returns the change of outputs that a report makes.
func changeOf(row store.AddPhoneHomeParams) (stackoutputs.Change, error) {
	change := stackoutputs.Change{Source: stackoutputs.PhoneHome, StackVersion: row.StackVersion}
	err := json.Unmarshal(row.Outputs, &change.Set)
	return change, err
}

// apply makes a report count, and returns the outputs that keep a person's value. A stack that was
// deleted keeps its outputs, and is marked as gone.
func (s *Service) apply(ctx context.Context, tx *store.Tx, install store.Install, row store.AddPhoneHomeParams) (
	kept []string, err error) {
	change, err := changeOf(row)
	if err != nil {
		return nil, fmt.Errorf("decode a report of install %s: %w", install.Name, err)
	}
	if row.Kind == deletion {
		if change, err = goneChange(ctx, tx, install); err != nil {
			return nil, err
		}
	}
	stored, merged, err := stackoutputs.Record(ctx, tx, install.ID, actor, change)
	if err != nil {
		return nil, err
	}
	if err := tx.Audit(ctx, actor, "install.phone_home", install.ID, map[string]any{
		"kind": row.Kind, "stack": row.StackID, "stack_version": row.StackVersion, "sender": row.Subject,
		"version": stored.Version, "changed": merged.Changed, "kept": merged.Kept,
	}); err != nil {
		return nil, err
	}
	return append([]string{}, merged.Kept...), tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// goneChange marks the stack as gone and leaves what it reported.
func goneChange(ctx context.Context, tx *store.Tx, install store.Install) (stackoutputs.Change, error) {
	change := stackoutputs.Change{Source: stackoutputs.PhoneHome, StackVersion: stackversion.Deleted,
		Set: map[string]json.RawMessage{}}
	_, current, err := stackoutputs.Current(ctx, tx, install.ID)
	for name, o := range current {
		if o.Source == stackoutputs.PhoneHome {
			change.Set[name] = o.Value
		} else if o.Reported != nil {
			change.Set[name] = o.Reported
		}
	}
	return change, err
}

// add stores a report, and removes the oldest ones.
func (s *Service) add(ctx context.Context, tx *store.Tx, row store.AddPhoneHomeParams) error {
	if _, err := tx.AddPhoneHome(ctx, row); err != nil {
		return fmt.Errorf("store a report of an install's stack: %w", err)
	}
	return tx.PrunePhoneHomes(ctx, tx.Org, row.InstallID, maxKept)
}

// title returns the title of a refusal, with the problems that it lists.
func title(err error) string {
	var r *refusal.Error
	if !errors.As(err, &r) {
		return err.Error()
	}
	text := r.Title
	for i, d := range r.Diagnostics {
		if i == 5 {
			return text + fmt.Sprintf("; and %d more", len(r.Diagnostics)-i)
		}
		text += "; " + d.Message
	}
	return text
}

// ReportByRunner stores what a runner's own machine knows of its stack. The runner must be that of
// this install alone and have registered by its cloud identity. Errors: ErrNotItsRunner, ErrBadReport,
// ErrTooOften, the refusals of package stackoutputs.
func (s *Service) ReportByRunner(
	ctx context.Context, caller runners.Caller, r api.StackReport,
) (api.PhoneHomeAnswer, error) {
	if !versionNumber.MatchString(r.StackVersion) {
		return api.PhoneHomeAnswer{}, ErrBadReport.With("%.40q is no version of a stack", r.StackVersion)
	}
	answer := api.PhoneHomeAnswer{Status: api.PhoneHomeAccepted}
	err := s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, tx.Org, r.Install)
		if err != nil {
			return store.NotFoundAs(err, ErrNotItsRunner)
		}
		runner, err := tx.ViewRunner(ctx, tx.Org, caller.Runner)
		if err != nil {
			return store.NotFoundAs(err, runners.ErrUnknownToken)
		}
		installs, err := tx.InstallsOfRunner(ctx, tx.Org, runner.ID)
		if err != nil {
			return err
		}
		if install.RunnerID != runner.ID || runner.Shared || len(installs) != 1 || !runners.ByIdentity(runner) {
			return ErrNotItsRunner
		}
		outputs, err := json.Marshal(r.Outputs)
		if err != nil {
			return ErrBadReport.With("its outputs cannot be read")
		}
		sum := sha256.Sum256(append([]byte(r.StackVersion+" "), outputs...))
		row := store.AddPhoneHomeParams{OrgID: tx.Org, InstallID: install.ID, Kind: update, Status: accepted,
			RequestID: "runner-" + hex.EncodeToString(sum[:16]), StackVersion: r.StackVersion, Subject: runner.Identity,
			Outputs: outputs, Kept: []string{}}
		last, err := tx.LastAcceptedPhoneHome(ctx, tx.Org, install.ID)
		if err == nil && strings.HasPrefix(last.RequestID, row.RequestID) {
			answer.Kept = last.Kept
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if refusedBy, err := s.check(ctx, tx, install, row); err != nil || refusedBy != nil {
			return errors.Join(refusedBy, err)
		}
		if err := checkRate(ctx, tx, row); err != nil {
			return err
		}
		if row.Kept, err = s.apply(ctx, tx, install, row); err != nil {
			return err
		}
		answer.Kept = row.Kept
		row.RequestID += fmt.Sprintf("-%d", tx.Now().UnixNano()) // the same outputs may come back later
		return s.add(ctx, tx, row)
	})
	if err != nil {
		return api.PhoneHomeAnswer{}, fmt.Errorf("report a stack: %w", err)
	}
	return answer, nil
}

// Settle makes the newest report of a confirmed account count that waited for it. The caller has
// locked the install.
func (s *Service) Settle(ctx context.Context, tx *store.Tx, install store.Install, claim store.CloudClaim) error {
	row, err := tx.WaitingPhoneHome(ctx, store.WaitingPhoneHomeParams{
		OrgID: tx.Org, InstallID: install.ID, Cloud: claim.Cloud, Account: claim.Account,
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	report := store.AddPhoneHomeParams{OrgID: row.OrgID, InstallID: row.InstallID, RequestID: row.RequestID,
		Kind: row.Kind, StackID: row.StackID, StackVersion: row.StackVersion, Subject: row.Subject, Outputs: row.Outputs}
	settled := store.SettlePhoneHomeParams{OrgID: tx.Org, InstallID: install.ID, RequestID: row.RequestID,
		Status: accepted, Kept: []string{}}
	refusedBy, err := s.check(ctx, tx, install, report)
	if err != nil {
		return err
	}
	if refusedBy != nil {
		settled.Status, settled.Reason = refused, title(refusedBy)
	} else if settled.Kept, err = s.apply(ctx, tx, install, report); err != nil {
		return err
	}
	return tx.SettlePhoneHome(ctx, settled)
}

// Forget stores a person's statement that the stack of an install does not exist any more. The caller has
// locked the install.
func (s *Service) Forget(ctx context.Context, tx *store.Tx, install store.Install, actor, reason string) error {
	last, err := tx.LastAcceptedPhoneHome(ctx, tx.Org, install.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && last.Kind == deletion {
		return ErrNoStack
	}
	if err != nil {
		return err
	}
	change, err := goneChange(ctx, tx, install)
	if err != nil {
		return err
	}
	if _, _, err := stackoutputs.Record(ctx, tx, install.ID, actor, change); err != nil {
		return err
	}
	row := store.AddPhoneHomeParams{OrgID: tx.Org, InstallID: install.ID, RequestID: id.New("forget"), Kind: deletion,
		Status: accepted, Reason: reason, StackID: last.StackID, StackVersion: last.StackVersion, Subject: last.Subject,
		Outputs: json.RawMessage("null"), Kept: []string{}}
	if err := s.add(ctx, tx, row); err != nil {
		return err
	}
	return tx.Audit(ctx, actor, "install.forget_stack", install.ID, map[string]any{
		"stack": last.StackID, "reason": reason,
	})
}

// Last returns the newest report of an install for the API, or nil.
func Last(ctx context.Context, tx *store.Tx, install string) (*api.PhoneHomeState, error) {
	row, err := tx.LastPhoneHome(ctx, tx.Org, install)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, err
	}
	view := api.PhoneHomeState{Status: row.Status, Kind: row.Kind, Reason: row.Reason, StackID: row.StackID,
		StackVersion: row.StackVersion, At: row.CreatedAt}
	if err := json.Unmarshal(row.Subject, &view.Subject); err != nil {
		return nil, fmt.Errorf("decode the sender of a report of install %s: %w", install, err)
	}
	return &view, nil
}
