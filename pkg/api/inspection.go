package api

import "slices"

// Inspections returns the kinds of job that are requests of people to look into what runs.
func Inspections() []string {
	return []string{string(JobSpecKindLogs), string(JobSpecKindDebugCommand), string(JobSpecKindShell)}
}

// IsInspection reports whether a job of a kind is a request of a person to look into what runs.
func IsInspection(kind string) bool { return slices.Contains(Inspections(), kind) }
