import { hostname, userInfo } from 'node:os';
import { becauseProblem, type DecidedByPerson } from '../../../lambdas/approval/person.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Register, repeatable, withTarget } from '../../command.ts';
import { UsageError } from '../../exit-codes.ts';
import { loadFleet } from '../../fleet.ts';
import { PROCESS } from '../../io.ts';
import { openKeyboardJournal } from '../../keyboard-journal.ts';
import { openTarget, repeatedFlags, repeatOptions, type TargetOptions } from '../../target.ts';
import { personCommand } from './command.ts';

interface Given extends TargetOptions {
  readonly because: string;
  readonly yes?: boolean;
  readonly uid?: string;
  /** Of `approve` alone. */
  readonly name?: readonly string[];
  readonly policy?: string;
  readonly journal?: string;
  readonly output: 'table' | 'json';
}

const ABOUT = {
  approve: `The request is judged first, by every check, with the evidence that a sweep reads, and shown. Where a name makes it provably
hostile, belongs to another or is one that no node may have, or where evidence could not be read, nothing is approved until
you type every name that is not proven again, each with --name. Requests that are hostile by anything else, that are of other
signers, or decided, are refused.`,
  deny: `The request is judged first, by every check, with the evidence that a sweep reads, and shown. A kubelet that was denied asks
again within a minute; one whose request is not approved, after 15 minutes. Requests of other signers, and decided
ones, are refused.`,
} as const;

/** `certmarshal approve` and `certmarshal deny`. */
export const registerPerson =
  (decision: DecidedByPerson['decision']): Register =>
  (command, { program: name, interruption, run }) => {
    withTarget(command.argument('<csr-name>', 'name of the CertificateSigningRequest'))
      .requiredOption('--because <words>', 'why, 10 to 500 characters: written into the condition')
      .option('--yes', 'write; without it the request is shown and nothing is written')
      .option('--uid <uid>', 'only the request that you saw: its metadata.uid')
      .option('--journal <directory>', 'keep the decision there, in lines that prove that none was changed');
    if (decision === 'approve')
      command.option(
        '--name <name>',
        'a name of the request that is not proven, which you vouch for; repeatable',
        repeatable,
      );
    command
      .addHelpText(
        'after',
        `
${ABOUT[decision]}
The condition has your words and the user that the API server takes you for. It is written to exactly the object that was
shown; what was changed or replaced meanwhile is not written to. Rights: ${name} rbac --no-audit --user YOU

Examples:
  ${name} ${decision} csr-q77zt --kubeconfig berlin.yaml --because 'second NIC of worker-3, ticket 4711'
  ${name} ${decision} csr-q77zt --kubeconfig berlin.yaml --because 'second NIC of worker-3, ticket 4711' --journal journal --yes${
    decision === 'deny'
      ? ''
      : `
  ${name} approve csr-q77zt --kubeconfig berlin.yaml --because 'address moved from worker-8, ticket 4711' --name 10.0.1.24 --yes`
  }

Exit status:
  0  done: the condition is written${decision === 'deny' ? '' : ', and the signer may issue the certificate'}
  1  nothing was written, as without --yes, or it is not known whether it was, or not journaled; the output says why
  2  wrong usage or configuration; nothing was done`,
      )
      .action(
        run(async (csr: string, options: Given) => {
          const problem = becauseProblem(options.because);
          if (problem !== undefined) throw new UsageError(`--because ${problem}.`);
          const journal = options.journal === undefined ? undefined : await openKeyboardJournal(options.journal);
          const fleet = await loadFleet(options.policy);
          const target = await openTarget(options, fleet);
          const { because, yes = false, uid, name: names = [], output } = options;
          const asked = { csr, decision, because: because.trim(), yes, uid, names };
          const settings = {
            output,
            program: name,
            version: packageJson.version,
            repeat: repeatOptions(options) + repeatedFlags([['--journal', options.journal]]),
            localUser: `${userInfo().username} on ${hostname()}`,
            journal,
          };
          const signal = interruption('a write under way is finished, no other one begins');
          return personCommand(target, fleet.policies, asked, settings, signal, PROCESS).finally(() => target.close());
        }),
      );
  };
