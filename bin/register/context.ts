/** What a command needs of the program it is registered in. */
export interface ProgramContext {
  /** How the user starts this program. */
  readonly program: string;
  readonly exitHelp: string;
  readonly setStatus: (status: number) => void;
  /** Aborts on the first Ctrl-C. */
  readonly interruption: (means?: string) => AbortSignal;
}
