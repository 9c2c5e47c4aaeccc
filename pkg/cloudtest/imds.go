package cloudtest

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Instance is a machine of an account with its metadata service.
type Instance struct {
	Role   Role
	ID     string // such as i-0123456789abcdef0
	Region string
}

// instanceSession is the duration of a machine's credentials.
const instanceSession = 6 * time.Hour

// StartInstance starts the metadata service (version 2) of a machine. It returns the variables by which the SDKs in a
// program find it.
func (a *AWS) StartInstance(i Instance) ([]string, error) {
	service := &imds{aws: a, instance: i, tokens: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", service.newToken)
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/{$}", service.guard(service.listRoles))
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/{role}", service.guard(service.credentials))
	mux.HandleFunc("GET /latest/meta-data/instance-id", service.guard(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(i.ID))
	}))
	mux.HandleFunc("GET /latest/dynamic/instance-identity/document", service.guard(service.document))
	address, err := a.cloud.servePlain(mux)
	return []string{"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://" + address, "AWS_EC2_METADATA_DISABLED=false"}, err
}

// imds is the metadata service of a machine.
type imds struct {
	aws      *AWS
	instance Instance

	mu      sync.Mutex
	tokens  map[string]bool
	session Session
}

func (s *imds) newToken(w http.ResponseWriter, r *http.Request) {
	seconds := r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds")
	if seconds == "" || r.Header.Get("X-Forwarded-For") != "" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	token := randomHex(28)
	s.mu.Lock()
	s.tokens[token] = true
	s.mu.Unlock()
	w.Header().Set("X-aws-ec2-metadata-token-ttl-seconds", seconds)
	_, _ = w.Write([]byte(token))
}

// guard requires a token.
func (s *imds) guard(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		good := s.tokens[r.Header.Get("X-aws-ec2-metadata-token")]
		s.mu.Unlock()
		if !good {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func (s *imds) listRoles(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(s.instance.Role.Name))
}

// credentials answers with the machine's session, and renews it in time.
func (s *imds) credentials(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("role") != s.instance.Role.Name {
		http.NotFound(w, r)
		return
	}
	now := s.aws.cloud.Now()
	s.mu.Lock()
	if s.session.Expires.Sub(now) < 5*time.Minute {
		s.session = s.aws.NewSession(s.instance.Role, s.instance.ID, instanceSession)
	}
	session := s.session
	s.mu.Unlock()
	writeJSON(w, map[string]string{
		"Code": "Success", "LastUpdated": now.UTC().Format(time.RFC3339), "Type": "AWS-HMAC",
		"AccessKeyId": session.AccessKeyID, "SecretAccessKey": session.SecretAccessKey, "Token": session.SessionToken,
		"Expiration": session.Expires.Format(time.RFC3339),
	})
}

func (s *imds) document(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"accountId": s.instance.Role.Account, "instanceId": s.instance.ID,
		"region": s.instance.Region, "version": "2017-09-30"})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client sees an answer that is cut off
}
