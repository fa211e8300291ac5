package machinecmd

import (
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/agent"
	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/join"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform/fleet"
	"plimsoll/internal/platform/local"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
)

func (c *commands) agent() *cobra.Command {
	o := join.Options{}
	var labels []string
	cmd := &cobra.Command{
		Use:   "agent --lab URL --key FILE",
		Short: "make this machine part of a lab's fleet",
		Long: `Make this machine part of a lab's fleet: dial out to the lab, join with a key and with
labels, and do what its studies ask, until interrupted. While the lab is away the agent waits for
it. When the lab is gone, the load stops and kernel settings are put back.

The lab can run plimsoll's own workloads, services and factors here, as the user who
starts the agent; a study's own commands only with --allow-commands.`,
		Example: "  plimsoll agent key agent.key\n  plimsoll agent --lab nats://lab:4222 --key agent.key --ca sha256:... --label role=client",
		Args:    cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Lab == "" || o.Key == "" {
				return cli.Mistake(fmt.Errorf("an agent needs --lab and --key; see plimsoll agent --help"))
			}
			var err error
			if o.Labels, err = fabric.ParseLabels(labels); err != nil {
				return cli.Mistake(err)
			}
			return c.join(cmd, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Lab, "lab", "", "`address` of the lab: nats://host:port")
	f.StringVar(&o.Key, "key", "", "`file` with this agent's key")
	f.StringVar(&o.CA, "ca", "", "`fingerprint` of the lab's certificate authority, needed beyond loopback")
	f.StringVar(&o.LabKey, "lab-key", "", "public `key` of the lab, to join no other")
	f.StringVar(&o.Name, "name", "", "`name` of this machine in reports (default: its host name)")
	f.StringArrayVar(&labels, "label", nil, "`key=value` that studies choose agents by; may be repeated")
	f.StringVar(&o.State, "state", "", "`folder` for records that wait for the lab and for what to put back")
	f.StringVar(&o.Scratch, "scratch", "/var/tmp/plimsoll", "`folder` for what workloads write")
	f.BoolVar(&o.Commands, "allow-commands", false, "let studies run commands of their own here")
	cmd.AddCommand(c.agentKey(), c.agentAllow(), c.agentShow())
	return cmd
}

// join joins a lab with the machine that plimsoll runs on.
func (c *commands) join(cmd *cobra.Command, o join.Options) error {
	if o.State == "" {
		folder, err := fabric.StateFolder("agent")
		if err != nil {
			return err
		}
		o.State = folder
	}
	for _, folder := range []*string{&o.State, &o.Scratch} {
		full, err := filepath.Abs(*folder)
		if err != nil {
			return err
		}
		*folder = full
	}
	here, err := local.Kind().Open(cmd.Context(), nil, 0)
	if err != nil {
		return err
	}
	defer here.Close() //nolint:errcheck // workers are free once the agent has left
	o.Machine, o.Version = here.Machine(), c.version
	o.Subprocesses = []string{agent.Command, responder.Command, reflector.Command}
	o.Log = func(format string, args ...any) { fmt.Fprintf(c.screen.Err, "plimsoll agent: "+format+"\n", args...) }
	return join.Run(cmd.Context(), o)
}

func (c *commands) agentKey() *cobra.Command {
	return &cobra.Command{
		Use:     "key FILE",
		Short:   "make a key for an agent and print its public half",
		Long:    "Make a key for an agent in a new file that you alone can read, and print its public half, which the\nlab must allow. For a key that is there already, print its public half.",
		Example: "  plimsoll agent key /etc/plimsoll/agent.key",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := fabric.KeepKey(args[0])
			if err != nil {
				return cli.Mistake(err)
			}
			fmt.Fprintln(c.screen.Out, key.Public())
			return nil
		},
	}
}

func (c *commands) agentAllow() *cobra.Command {
	var s fleet.Settings
	cmd := &cobra.Command{
		Use:     "allow KEY [REMARK]",
		Short:   "let the agent with a public key join this machine's lab",
		Example: "  plimsoll agent allow UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 rack 3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := s.Folder()
			if err != nil {
				return err
			}
			if err := fabric.Allow(filepath.Join(folder, fleet.AgentsFile), args[0], args[1:]...); err != nil {
				return cli.Mistake(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&s.State, "state", "", "the lab's state `folder`")
	return cmd
}

func (c *commands) agentShow() *cobra.Command {
	s := fleet.Defaults()
	s.Wait = 0
	var labels []string
	var asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "show",
		Short: "start this machine's lab for a moment and show which agents join",
		Long: `Start this machine's lab for a moment and show which agents join, with the offset of
their clocks. The command that starts an agent of this lab goes to standard error.`,
		Example: "  plimsoll agent show --listen 0.0.0.0:4222 --wait 1m --agents 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.Labels, s.Wait = labels, parameter.Duration(wait)
			members, err := fleet.Show(cmd.Context(), s, func(command string) { fmt.Fprintln(c.screen.Err, command) })
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(c.screen.Out, members)
			}
			return fleet.Print(c.screen.Out, members)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Listen, "listen", s.Listen, "`address` at which the lab listens")
	f.StringVar(&s.URL, "url", "", "external NATS `cluster`")
	f.StringVar(&s.CA, "ca", "", "`fingerprint` of the external cluster's certificate authority")
	f.StringVar(&s.State, "state", "", "the lab's state `folder`")
	f.StringArrayVar(&labels, "label", nil, "`key=value` that agents must have; may be repeated")
	f.IntVar(&s.Agents, "agents", s.Agents, "leave as soon as so `many` have joined")
	f.DurationVar(&wait, "wait", 30*time.Second, "leave after so much `time` at the latest")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
