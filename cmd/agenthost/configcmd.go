package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/config"
)

func newConfig(st *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and show the configuration",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Check the configuration and the rules in it", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return configCheck(cmd, st) },
		},
		&cobra.Command{
			Use: "show", Short: "Show every key with its value and where that comes from", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := loadConfig(cmd)
				if err == nil {
					_, err = fmt.Fprint(st.out, cfg.Show())
				}
				return err
			},
		},
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of the configuration file", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintf(st.out, "%s\n", config.Schema())
				return err
			},
		},
		&cobra.Command{
			Use: "init", Short: "Write a commented configuration file where there is none", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return configInit(cmd, st) },
		},
	)
	return cmd
}

func configCheck(cmd *cobra.Command, st *streams) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if _, err := policyOf(cmd, ""); err != nil {
		return err
	}
	for _, w := range warnings(cfg) {
		fmt.Fprintln(st.err, "agenthost: warning:", w)
	}
	file := cfg.File
	if file == "" {
		file = "no file; the defaults"
	}
	_, err = fmt.Fprintf(st.out, "ok: %s\n", file)
	return err
}

func configInit(cmd *cobra.Command, st *streams) error {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return err
	}
	if path == "" {
		path = config.DefaultFile(environ())
	}
	if path == "" {
		return usage("name a file with --config", "there is no home directory for the configuration file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return usage("name another file with --config", "%v", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return usage("edit it, or name another one with --config", "%v", err)
	}
	_, err = f.WriteString(config.Init())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return &problem{code: exitFailed, what: err.Error()}
	}
	_, err = fmt.Fprintln(st.out, path)
	return err
}
