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
	"plimsoll/internal/hoststat/watch"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/fleet"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/tuner"
)

func (c *commands) agent() *cobra.Command {
	o := join.Options{}
	var labels []string
	t := tuning{Options: tuner.Defaults()}
	cmd := &cobra.Command{
		Use:   "agent --lab URL --key FILE | --tuner RULE",
		Short: "add this machine to the fleet of a lab, or tune this host",
		Long: `Add this machine to the fleet of a lab. The agent connects to the lab, authenticates with
its key, and runs the studies of the lab until it is interrupted. While the lab is not
reachable, it retries. If the connection is lost during a run, the load stops and
kernel settings are restored.

The lab can run plimsoll's own workloads, services and factors, as the user who starts
the agent. Commands defined in a study require --allow-commands.

With --tuner dense, the agent joins no lab but tunes this host until it is interrupted. It
batches the network work of VMs and containers while the host is dense. A dense host has
at least as many VMs as CPUs, twice as many vCPUs, and half of its CPU time in use. The
tuner decides every 60 s and prints each decision with its evidence. When it ends, it
restores all settings; after kill -9, "plimsoll restore" does.`,
		Example: "  plimsoll agent key agent.key\n  plimsoll agent --lab nats://lab:4222 --key agent.key --ca sha256:... --label role=client\n  plimsoll agent --tuner dense --json",
		Args:    cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tunes, err := t.asked(cmd); err != nil {
				return cli.Mistake(err)
			} else if tunes {
				return c.tune(cmd, t)
			}
			if o.Lab == "" || o.Key == "" {
				return cli.Mistake(fmt.Errorf("an agent needs --lab and --key, or --tuner; see plimsoll agent --help"))
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
	f.StringVar(&o.CA, "ca", "", "`fingerprint` of the lab's certificate authority; required except on loopback")
	f.StringVar(&o.LabKey, "lab-key", "", "public `key` of the lab; another lab is refused")
	f.StringVar(&o.Name, "name", "", "`name` of this machine in reports (default: its host name)")
	f.StringArrayVar(&labels, "label", nil, "label for selection by studies, as `key=value`; may be repeated")
	f.StringVar(&o.State, "state", "", "`folder` for the undo log")
	f.StringVar(&o.Scratch, "scratch", "/var/tmp/plimsoll", "scratch `folder` of workloads")
	f.BoolVar(&o.Commands, "allow-commands", false, "permit commands defined in studies")
	t.flags(f)
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
	o.Subprocesses = []string{agent.Command, responder.Command, reflector.Command, watch.Command}
	o.Log = func(format string, args ...any) { fmt.Fprintf(c.screen.Err, "plimsoll agent: "+format+"\n", args...) }
	return join.Run(cmd.Context(), o)
}

func (c *commands) agentKey() *cobra.Command {
	return &cobra.Command{
		Use:     "key FILE",
		Short:   "create the key of an agent and print its public key",
		Long:    "Create the key of an agent in a new file with mode 0600, and print its public key for \"plimsoll agent\nallow\". If the file exists, print the public key in it.",
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
		Short:   "allow the agent with a public key to join this machine's lab",
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
	cmd.Flags().StringVar(&s.State, "state", "", "state `folder` of the lab")
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
		Short: "start this machine's lab briefly and list the agents that join",
		Long: `Start this machine's lab briefly and list the agents that join, with their clock offsets.
The command that starts an agent of this lab is printed to standard error.`,
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
	f.StringVar(&s.Listen, "listen", s.Listen, "listen `address` of the lab")
	f.StringVar(&s.URL, "url", "", "`URL` of an external NATS cluster, instead of the embedded server")
	f.StringVar(&s.CA, "ca", "", "`fingerprint` of the external cluster's certificate authority")
	f.StringVar(&s.State, "state", "", "state `folder` of the lab")
	f.StringArrayVar(&labels, "label", nil, "`key=value` that agents must have; may be repeated")
	f.IntVar(&s.Agents, "agents", s.Agents, "exit when this `number` of agents has joined")
	f.DurationVar(&wait, "wait", 30*time.Second, "maximum `time` to wait")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
