import type { Command } from 'commander';
import type { ProgramContext } from './context.ts';

export function registerJournal(_program: Command, _context: ProgramContext): void {
  // Registered when it is built.
}
