package store

import "github.com/jackc/pgx/v5"

// Raw returns the transaction of a unit of work.
func Raw(t *Tx) pgx.Tx { return t.tx }

// OnlyReads reports whether a statement counts as one that writes nothing.
var OnlyReads = onlyReads

// Statements are queries whose plans tests check.
var Statements = map[string]string{
	"ChangedInstalls":            changedInstalls,
	"DeleteEndedJobsOfOwner":     deleteEndedJobsOfOwner,
	"DeleteRejectionsOfWorkflow": deleteRejectionsOfWorkflow,
	"RetainJobs":                 retainJobs,
	"RetainRunnerLogs":           retainRunnerLogs,
	"RetainWorkflows":            retainWorkflows,
	"StoredComponentsOfInstalls": storedComponentsOfInstalls,
	"ViewWorkflows":              viewWorkflows,
}
