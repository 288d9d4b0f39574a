package main

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// relayFlags say which relay is meant, and who asks.
type relayFlags struct{ url, tokenFile string }

func (f *relayFlags) register(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.url, "relay", "", "`URL` of the relay, like https://relay.example")
	cmd.PersistentFlags().StringVar(&f.tokenFile, "token-file", "", "`FILE` with a token whose scope is admin")
}

// relayToken is a token as the relay tells of it.
type relayToken struct {
	ID      string     `json:"id"`
	Name    string     `json:"name,omitzero"`
	Tenant  string     `json:"tenant"`
	Scope   wire.Scope `json:"scope"`
	Created int64      `json:"created"`
	Expires int64      `json:"expires,omitzero"`
	Revoked int64      `json:"revoked,omitzero"`
}

// madeToken is a new token with its secret, which the relay tells once.
type madeToken struct {
	Token  relayToken `json:"token"`
	Secret string     `json:"secret"`
}

// call makes a request of the relay's API of tokens.
func (f *relayFlags) call(ctx context.Context, method, path string, in, out any) error {
	token := ""
	if f.tokenFile != "" {
		var err error
		if token, err = tokenOf(f.tokenFile); err != nil {
			return err
		}
	}
	web, base, err := peer.HTTP(f.url, peer.Options{Token: token})
	if err != nil {
		return usage("name it with --relay https://relay.example", "--relay: %v", err)
	}
	defer web.CloseIdleConnections()
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return usage("name it with --relay https://relay.example", "--relay: %v", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := web.Do(req)
	if err != nil {
		return &problem{code: exitFailed, what: fmt.Sprintf("asking the relay: %v", err), mend: "is it running, and is --relay right?"}
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return f.refused(path, resp)
	}
	if out == nil {
		return nil
	}
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, 16<<20), out); err != nil {
		return fmt.Errorf("reading the relay's answer: %w", err)
	}
	return nil
}

// refused is what an answer that is no success says.
func (f *relayFlags) refused(path string, resp *http.Response) error {
	e := peer.Refusal(resp)
	if e == nil {
		return &problem{code: exitFailed, what: fmt.Sprintf("the relay answers %s", resp.Status), mend: "is --relay the URL of an agenthost relay?"}
	}
	p := &problem{code: exitFailed, what: "the relay refuses: " + e.Message}
	if e.Code == wire.CodeUnauthorized && f.tokenFile == "" && path != "/v1/pair" {
		p.mend = "give a token whose scope is admin with --token-file"
	}
	return p
}

// tokenRequest is what is asked of a new token.
type tokenRequest struct {
	Tenant string     `json:"tenant,omitzero"`
	Scope  wire.Scope `json:"scope"`
	Name   string     `json:"name,omitzero"`
	TTL    int64      `json:"ttlMs,omitzero"`
	Code   int64      `json:"codeTtlMs,omitzero"`
}

// tokenFlags are what is asked of a new token, on the command line.
type tokenFlags struct {
	tenant, scope, name string
	ttl                 time.Duration
}

func (f *tokenFlags) register(cmd *cobra.Command, scope string) {
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "`NAME` of the tenant; needed with the operator's token")
	cmd.Flags().StringVar(&f.scope, "scope", scope, "host, view, control or admin")
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` for people, like the device's")
	cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "`DURATION` that it counts, 0 for ever")
}

func (f *tokenFlags) request() (tokenRequest, error) {
	if !slices.Contains(wire.Scopes(), wire.Scope(f.scope)) {
		return tokenRequest{}, usage("agenthost token create --scope view", "--scope: want one of %v, got %q", wire.Scopes(), f.scope)
	}
	if f.ttl < 0 {
		return tokenRequest{}, usage("write it as 720h", "--ttl: want 0 or more, got %v", f.ttl)
	}
	return tokenRequest{Tenant: f.tenant, Scope: wire.Scope(f.scope), Name: f.name, TTL: f.ttl.Milliseconds()}, nil
}

func newToken(st *streams) *cobra.Command {
	f := &relayFlags{}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of a relay, release hosts",
		Example: `  agenthost token create --relay https://relay.example --token-file operator.token \
      --tenant me --scope host > host.token
  agenthost token list --relay https://relay.example --token-file admin.token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.register(cmd)
	cmd.AddCommand(newTokenCreate(st, f), newTokenList(st, f), newTokenRevoke(st, f), newTokenRelease(st, f))
	return cmd
}

func newTokenCreate(st *streams, f *relayFlags) *cobra.Command {
	t := &tokenFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a token and print its secret, which cannot be had again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := t.request()
			if err != nil {
				return err
			}
			var made madeToken
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/tokens", req, &made); err != nil {
				return err
			}
			if asJSON {
				return printJSON(st.out, made)
			}
			fmt.Fprintln(st.out, made.Secret)
			fmt.Fprintf(st.err, "token %s: scope %s, tenant %s\n", made.Token.ID, made.Token.Scope, made.Token.Tenant)
			return nil
		},
	}
	t.register(cmd, "view")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newTokenList(st *streams, f *relayFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list struct {
				Tokens []relayToken `json:"tokens"`
			}
			if err := f.call(cmd.Context(), http.MethodGet, "/v1/tokens", nil, &list); err != nil {
				return err
			}
			if asJSON {
				return printJSON(st.out, list.Tokens)
			}
			tw := tabwriter.NewWriter(st.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "TOKEN\tTENANT\tSCOPE\tCREATED\tSTATE\tNAME")
			for _, k := range list.Tokens {
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Tenant, k.Scope, time.UnixMilli(k.Created).Format(time.DateTime), k.state(time.Now()), present.Line(k.Name))
			}
			return tw.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// state is whether a token counts, for people.
func (k relayToken) state(now time.Time) string {
	switch {
	case k.Revoked != 0:
		return "revoked"
	case k.Expires == 0:
		return "valid"
	case now.UnixMilli() >= k.Expires:
		return "expired"
	}
	return "until " + time.UnixMilli(k.Expires).Format(time.DateTime)
}

func newTokenRevoke(st *streams, f *relayFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TOKEN-ID …",
		Short: "Revoke tokens; their connections end within a minute",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := f.call(cmd.Context(), http.MethodDelete, "/v1/tokens/"+url.PathEscape(id), nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(st.err, "revoked %s\n", id)
			}
			return nil
		},
	}
}

func newTokenRelease(st *streams, f *relayFlags) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use:   "release HOST-ID …",
		Short: "Let another token be a host",
		Long: `A host belongs to the token that was the first to be it, so that no other host of the
tenant can pass for it. Give it free when the host has a new token; revoking the old
token does that as well.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				path := "/v1/hosts/" + url.PathEscape(id) + "/token"
				if tenant != "" {
					path += "?tenant=" + url.QueryEscape(tenant)
				}
				if err := f.call(cmd.Context(), http.MethodDelete, path, nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(st.err, "released %s\n", id)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "`NAME` of the tenant; needed with the operator's token")
	return cmd
}

func newPair(st *streams) *cobra.Command {
	f, t := &relayFlags{}, &tokenFlags{}
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "pair [CODE]",
		Short: "Give a device a token by a short code",
		Long: `Without a code: makes one, to be typed in on the other device within minutes.
With a code: redeems it, and prints the token.`,
		Example: `  agenthost pair --relay https://relay.example --token-file admin.token --scope control
  agenthost pair --relay https://relay.example 7K2MX-PQ9FD > phone.token`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				name := t.name
				if name == "" {
					name, _ = os.Hostname() // a name is for people only
				}
				var made madeToken
				if err := f.call(cmd.Context(), http.MethodPost, "/v1/pair", map[string]string{"code": args[0], "name": name}, &made); err != nil {
					return err
				}
				fmt.Fprintln(st.out, made.Secret)
				fmt.Fprintf(st.err, "token %s: scope %s, tenant %s\n", made.Token.ID, made.Token.Scope, made.Token.Tenant)
				return nil
			}
			req, err := t.request()
			if err != nil {
				return err
			}
			req.Code = ttl.Milliseconds()
			var made struct {
				Code    string `json:"code"`
				Expires int64  `json:"expires"`
			}
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/pairings", req, &made); err != nil {
				return err
			}
			fmt.Fprintln(st.out, made.Code)
			fmt.Fprintf(st.err, "good until %s, once: agenthost pair --relay %s %s\n", time.UnixMilli(made.Expires).Format(time.TimeOnly), f.url, made.Code)
			return nil
		},
	}
	f.register(cmd)
	t.register(cmd, "control")
	cmd.Flags().DurationVar(&ttl, "code-ttl", 5*time.Minute, "`DURATION` that the code counts, 1h at most")
	return cmd
}
