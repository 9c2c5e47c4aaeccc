package control

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stackfiles"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// RenderStack implements POST /v1/installs/{install}/stack.
func (s *Server) RenderStack(ctx context.Context, r RenderStackRequestObject) (RenderStackResponseObject, error) {
	var view api.Stack
	var rendering stackfiles.Rendering
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		if install, err = tx.LockInstall(ctx, tx.Org, install.ID); err != nil {
			return err
		}
		var version int32
		version, rendering, err = s.services.Rollout.RenderStack(ctx, tx, install, callerOf(ctx).actor)
		if err != nil {
			return err
		}
		if version == 0 {
			return &refusal.Error{Kind: refusal.Invalid, Code: "bad_stack",
				Title:       fmt.Sprintf("the stack of install %s cannot be rendered", install.Name),
				Diagnostics: each(rendering.Findings, viewFinding)}
		}
		view, err = stackOf(ctx, tx, install, version)
		return err
	})
	if err == nil && r.Params.Publish {
		view.TemplateURL, err = s.publishStack(ctx, view.Cloud, rendering)
	}
	return RenderStack200JSONResponse(view), err
}

// publishStack checks and publishes the templates of the vendor in a stack, and its own template if it is a single
// file. It returns the address of that; empty without a bucket.
func (s *Server) publishStack(ctx context.Context, cloud string, r stackfiles.Rendering) (string, error) {
	publisher := s.services.Publisher
	if cloud == "aws" && publisher.Bucket() != "" && !publisher.ServesCloudFormation() {
		if len(r.Nested) == 0 {
			return "", nil
		}
		return "", refusal.New(refusal.Invalid, "not_published", "CloudFormation reads nested templates from S3 only, and "+
			"the bucket of the control plane is "+publisher.Bucket(), "Start the control plane with a bucket of S3.")
	}
	if err := publisher.PublishNested(ctx, r.Nested); err != nil {
		return "", err
	}
	if publisher.Bucket() == "" || len(r.Files) != 1 {
		return "", nil
	}
	return publisher.Publish(ctx, r.Files[0].Name, []byte(r.Files[0].Content))
}

// GetStackVersion implements GET /v1/installs/{install}/stack/versions/{version}.
func (s *Server) GetStackVersion(
	ctx context.Context, r GetStackVersionRequestObject,
) (GetStackVersionResponseObject, error) {
	var view api.Stack
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		number := int32(0)
		if r.Version > 0 && r.Version <= math.MaxInt32 {
			number = int32(r.Version)
		}
		view, err = stackOf(ctx, tx, install, number)
		return err
	})
	return GetStackVersion200JSONResponse(view), err
}

// ListStackVersions implements GET /v1/installs/{install}/stack/versions.
func (s *Server) ListStackVersions(
	ctx context.Context, r ListStackVersionsRequestObject,
) (ListStackVersionsResponseObject, error) {
	var list api.StackVersionList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewStackVersions(ctx, store.ViewStackVersionsParams{
			OrgID: tx.Org, InstallID: install.ID, Before: beforeNumber(r.Params.Cursor), Most: most,
		})
		rows, list.Next = paged(rows, most, func(v store.ViewStackVersionsRow) string {
			return strconv.Itoa(int(v.Version))
		})
		list.Items = each(rows, func(v store.ViewStackVersionsRow) api.StackVersion {
			return api.StackVersion{
				Version: int(v.Version), Digest: v.Digest, Cloud: v.Cloud, Name: v.Name, Region: v.Region,
				Release: int(v.Release), CreatedAt: v.CreatedAt,
			}
		})
		return err
	})
	return ListStackVersions200JSONResponse(list), err
}

// stackOf returns a version of an install's stack.
func stackOf(ctx context.Context, tx *store.Tx, install store.Install, version int32) (api.Stack, error) {
	row, err := tx.ViewStackVersion(ctx, tx.Org, install.ID, version)
	if isNotFound(err) {
		return api.Stack{}, problem.New(http.StatusNotFound, "not_found",
			fmt.Sprintf("the stack of install %s has no version %d", install.Name, version),
			"Use one that `nuon installs stack versions` lists.")
	}
	if err != nil {
		return api.Stack{}, err
	}
	view := api.Stack{
		Version: int(row.Version), Digest: row.Digest, Cloud: row.Cloud, Name: row.Name, Region: row.Region,
		Release: int(row.Release), CreatedAt: row.CreatedAt,
	}
	if err := json.Unmarshal(row.Files, &view.Files); err != nil {
		return view, fmt.Errorf("decode version %d of the stack of install %s: %w", version, install.Name, err)
	}
	var findings diagnostic.Diagnostics
	if err := json.Unmarshal(row.Findings, &findings); err != nil {
		return view, fmt.Errorf("decode the findings of version %d of the stack of install %s: %w", version, install.Name,
			err)
	}
	view.Findings = each(findings, viewFinding)
	view.Status, err = stackStatus(ctx, tx, install)
	return view, err
}

// stackStatus compares the stack that the customer runs with the newest version.
func stackStatus(ctx context.Context, tx *store.Tx, install store.Install) (api.StackStatus, error) {
	rows, err := tx.ViewStackVersions(ctx, store.ViewStackVersionsParams{
		OrgID: tx.Org, InstallID: install.ID, Before: math.MaxInt32, Most: 1,
	})
	if err != nil {
		return api.StackStatus{}, err
	}
	var newest stackversion.Newest
	if len(rows) > 0 {
		newest = stackversion.Newest{Version: rows[0].Version, Digest: rows[0].Digest}
	}
	outputs, _, err := stackoutputs.Current(ctx, tx, install.ID)
	return api.StackStatus{
		Status:  api.StackStatusStatus(stackversion.StateOf(newest, outputs.Version > 0, outputs.StackVersion)),
		Newest:  int(newest.Version),
		Running: outputs.StackVersion,
	}, err
}

func viewFinding(d diagnostic.Diagnostic) api.Diagnostic {
	return api.Diagnostic{File: d.File, Line: d.Line, Column: d.Column, Severity: string(d.Severity), Message: d.Message,
		Hint: d.Hint}
}
