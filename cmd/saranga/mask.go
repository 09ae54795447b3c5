package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
)

func maskCommand() *cobra.Command {
	var hash, passwordCodec bool
	var key string
	cmd := &cobra.Command{
		Use: "mask <password>", Short: "Mask a password for a configuration file.", Args: exactly("password"),
		RunE: func(cmd *cobra.Command, args []string) error {
			masked, err := mask(cmd, args[0], hash, passwordCodec, key)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "result: %s\n", masked)
			return nil
		},
	}
	cmd.Flags().BoolVar(&hash, "hash", false, "hash it, which can't be undone, for a file of users")
	cmd.Flags().StringVar(&key, "key", "", "key to mask with")
	cmd.Flags().BoolVar(&passwordCodec, "password-codec", false, "mask it as the password-codec of the instance's broker.xml says")
	return cmd
}

func mask(cmd *cobra.Command, password string, hash, passwordCodec bool, key string) (string, error) {
	if hash {
		return security.Hash(password)
	}
	var codec *config.Codec
	var err error
	switch {
	case passwordCodec:
		var f instanceFlags
		in, _, loadErr := f.load(cmd, nil, config.Options{Tool: true})
		if loadErr != nil {
			return "", loadErr
		}
		codec, err = in.Codec()
	case key != "":
		codec, err = config.NewCodec(config.DefaultCodec+";key="+key, nil)
	default:
		codec, err = config.NewCodec("", os.LookupEnv)
	}
	if err != nil {
		return "", err
	}
	return codec.Encode(password)
}
