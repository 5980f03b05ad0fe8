import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A certificate as base64 of DER, or a bundle as base64 of PEM, for Go's own parsers. */
export type CertificateQuestion = { readonly id: string } & (
  | { readonly certificate: string }
  | { readonly bundle: string }
);

/** A CertificateSigningRequest, reduced to what upstream looks at. */
export interface OracleQuestion {
  readonly id: string;
  /** `spec.request`: base64 of the PEM text. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly username: string;
}

/** What Kubernetes' own code makes of a request. Fields about its content are empty when `parsed` is false. */
export interface OracleVerdict {
  readonly id: string;
  /** `ParseCSR` accepts it. */
  readonly parsed: boolean;
  readonly parseError?: string;
  /** `ValidateKubeletServingCSR` accepts it: the signer would sign it once approved. */
  readonly kubeletServing: boolean;
  /** Why `kubeletServing` is false. */
  readonly error?: string;
  readonly dnsNames: readonly string[];
  /** As Go prints them: canonical, IPv4-mapped addresses as IPv4. */
  readonly ipAddresses: readonly string[];
  /** How many URI names. */
  readonly uris: number;
  /** How many e-mail names. */
  readonly emails: number;
  readonly commonName: string;
  readonly organization: readonly string[];
  /** The request is signed by its own key. */
  readonly signatureValid: boolean;
  /** The API server's create validation accepts the object. */
  readonly validObject: boolean;
  /** `<field>: <kind>: <detail>`, empty when `validObject`. */
  readonly validationErrors: readonly string[];
  /** Of a bundle: the SHA-256 of each certificate in it. */
  readonly blocks: readonly string[];
}

/** A running oracle process. */
export interface Oracle {
  /**
   * Verdicts in the order of the questions. Calls may overlap. A batch is held in memory: tens of thousands are fine.
   *
   * @throws Error when the oracle ends before it has answered.
   */
  judge(batch: readonly (OracleQuestion | CertificateQuestion)[]): Promise<OracleVerdict[]>;
  /** Ends the process. */
  stop(): Promise<void>;
}

/** Questions in one write: few large writes are faster than many small ones. */
const CHUNK = 1000;

/**
 * Starts the oracle (test/control-plane/oracle), which answers with upstream's own parser and validation.
 *
 * @param binary path from `resolveBinaries('oracle')`.
 */
export function startOracle(binary: string): Oracle {
  const child = spawn(binary, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: { resolve: (verdict: OracleVerdict) => void; reject: (error: Error) => void }[] = [];
  let next = 0;
  let failure: Error | undefined;

  const fail = (error: Error): void => {
    failure ??= error;
    for (const { reject } of waiting.splice(0).slice(next)) reject(failure);
    next = 0;
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const asker = waiting[next];
    next += 1;
    // Answers come in the order of the questions. The list is cut only when empty: shift() on a long one is slow.
    if (next === waiting.length) {
      waiting.length = 0;
      next = 0;
    }
    asker?.resolve(JSON.parse(line));
  });
  child.once('error', fail);
  child.once('close', (code) => fail(new Error(`the oracle ended (${code})`)));
  child.stdin.on('error', fail);

  return {
    async judge(batch) {
      if (failure) throw failure;
      // Registered in one go, before the first write: an overlapping call must not get in between.
      const answers = Promise.all(
        batch.map(() => new Promise<OracleVerdict>((resolve, reject) => waiting.push({ resolve, reject }))),
      );
      for (let index = 0; index < batch.length; index += CHUNK) {
        const lines = batch.slice(index, index + CHUNK).map((question) => `${JSON.stringify(question)}\n`);
        child.stdin.write(lines.join(''));
      }
      return answers;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.stdin.end();
      await once(child, 'close');
    },
  };
}
