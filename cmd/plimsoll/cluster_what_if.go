package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/cluster/doctor"
)

func (c *command) clusterWhatIf() *cobra.Command {
	var asJSON, free bool
	var change doctor.Change
	cmd := &cobra.Command{
		Use:   "what-if SNAPSHOT",
		Short: "compare a round with the one after a change",
		Long: `Compare what a round would do with what it would do after a change: another level, a rule
dropped, hosts failed, in maintenance or back.`,
		Example: "  plimsoll cluster what-if lab.yaml --fail esx-2\n  plimsoll cluster what-if lab.yaml --level 5 --drop-rule db-apart",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := readCluster(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("ignore-cost") {
				on := !free
				change.CostBenefit = &on
			}
			compared, err := doctor.WhatIf(cl, change)
			if err != nil {
				return mistake{err}
			}
			return c.tell(compared, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.IntVar(&change.Level, "level", 0, "level from 1 to 5")
	f.BoolVar(&free, "ignore-cost", false, "moves need not gain more than they cost")
	f.StringSliceVar(&change.DropRules, "drop-rule", nil, "rules that do not hold")
	f.StringSliceVar(&change.Fail, "fail", nil, "hosts that have failed")
	f.StringSliceVar(&change.Maintain, "maintain", nil, "hosts in maintenance")
	f.StringSliceVar(&change.Return, "return", nil, "hosts that can be used again")
	return cmd
}
